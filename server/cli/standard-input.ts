/** Reads a secret from standard input: all of it from a pipe or file, one hidden line from a terminal. */

/** Longest input that is read, in characters. */
const LONGEST = 1024 * 1024;
const INTERRUPT = "\u0003";
const END = "\u0004";
const BACKSPACE = /[\b\u007f]/;

/**
 * @param prompt shown where a person types
 * @throws where it is longer than 1 MiB, or the person breaks off
 */
export async function readInput(
  input: NodeJS.ReadStream,
  prompt: string,
  show: (text: string) => void,
): Promise<string> {
  if (input.isTTY) return readHidden(input, prompt, show);
  let text = "";
  for await (const chunk of input.setEncoding("utf8")) {
    text += String(chunk);
    if (text.length > LONGEST) throw new Error("standard input is longer than 1 MiB");
  }
  return text;
}

function readHidden(input: NodeJS.ReadStream, prompt: string, show: (text: string) => void): Promise<string> {
  show(prompt);
  input.setRawMode(true).setEncoding("utf8").resume();
  return new Promise((resolve, reject) => {
    let typed = "";
    const finish = (settle: () => void) => {
      input.off("data", hear);
      input.setRawMode(false).pause();
      show("\n");
      settle();
    };
    const hear = (text: string) => {
      for (const character of text) {
        if (character === INTERRUPT) return finish(() => reject(new Error("broken off")));
        if (character === "\r" || character === "\n" || character === END) return finish(() => resolve(typed));
        typed = BACKSPACE.test(character) ? typed.slice(0, -1) : typed + character;
      }
    };
    input.on("data", hear);
  });
}
