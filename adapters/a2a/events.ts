/**
 * Looks at the events of an agent's stream before the SDK does: its REST client (1.3.0) prints an event that is no JSON
 * on the standard error of the process, where nothing that an agent says belongs.
 */

/** Characters of one event; the SDK takes no more. */
const MAX_EVENT = 4 * 1024 * 1024;

/**
 * The response as it is, but for a stream that ends before the first event that is no JSON, or too large: what came
 * before it counts, and the task can still be asked for.
 */
export function checkedEvents(response: Response): Response {
  const isStream = response.headers.get("content-type")?.toLowerCase().startsWith("text/event-stream");
  if (!isStream || response.body === null) return response;
  const { status, headers } = response;
  return new Response(response.body.pipeThrough(checker()), { status, headers });
}

function checker(): TransformStream<Uint8Array, Uint8Array> {
  const decoder = new TextDecoder();
  const encoder = new TextEncoder();
  /** The event so far, whole lines. */
  let lines: string[] = [];
  let line = "";
  let size = 0;

  /** Hands a complete event on; false where it must not be. */
  const endOfEvent = (controller: TransformStreamDefaultController<Uint8Array>): boolean => {
    const data = lines.filter((text) => text.startsWith("data:")).map((text) => text.slice("data:".length));
    if (data.length > 0 && !isJson(data.join("\n"))) return false;
    controller.enqueue(encoder.encode(`${lines.join("\n")}\n\n`));
    lines = [];
    size = 0;
    return true;
  };

  return new TransformStream({
    transform(chunk, controller) {
      for (const [index, piece] of decoder.decode(chunk, { stream: true }).split("\n").entries()) {
        if (index > 0) {
          const text = line.endsWith("\r") ? line.slice(0, -1) : line;
          line = "";
          if (text !== "") lines.push(text);
          else if (!endOfEvent(controller)) return controller.terminate();
        }
        line += piece;
        size += piece.length;
        if (size > MAX_EVENT) return controller.terminate();
      }
      return undefined;
    },
    // The SDK takes what stands at the end as an event, with or without an empty line behind it.
    flush(controller) {
      if (line !== "") lines.push(line);
      if (lines.length > 0) endOfEvent(controller);
    },
  });
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
