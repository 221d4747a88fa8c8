/** The body of a request as bytes. */
import { randomBytes } from "node:crypto";
import type { Assets, ReadableAsset } from "../contract.ts";
import { type Body, formText, type Part } from "./body.ts";
import { RequestRefused } from "./styles.ts";

export interface WireBody {
  /** Undefined where there is none. A function makes a stream, a new one for each try. */
  payload: string | Uint8Array | (() => ReadableStream<Uint8Array>) | undefined;
  /** Bytes of a stream. */
  length?: number;
  contentType: string | undefined;
}

/**
 * @param contentType as declared; multipart gets its boundary here
 * @param assets where handles are opened, all of them before anything is sent
 * @throws whatever `assets.read` rejects with
 */
export async function wireBody(
  body: Body,
  contentType: string | undefined,
  assets: Pick<Assets, "read"> = NO_FILES,
): Promise<WireBody> {
  switch (body.kind) {
    case "none":
      return { payload: undefined, contentType: undefined };
    case "json":
      return { payload: JSON.stringify(body.value), contentType };
    case "form":
      return { payload: formText(body.pairs), contentType };
    case "text":
      return { payload: body.value, contentType };
    case "binary":
      return { payload: Buffer.from(body.base64, "base64"), contentType };
    case "asset": {
      const file = await assets.read(body.handle);
      return { payload: () => file.stream(), length: file.size, contentType: contentType ?? file.type };
    }
    case "multipart": {
      const boundary = `jackfield-${randomBytes(16).toString("hex")}`;
      const [type = "multipart/form-data"] = (contentType ?? "").split(";");
      const pieces = await multipart(body.parts, boundary, assets);
      return {
        ...joined(pieces),
        contentType: `${type || "multipart/form-data"}; boundary=${boundary}`,
      };
    }
  }
}

const NO_FILES: Pick<Assets, "read"> = {
  read: () => Promise.reject(new RequestRefused("This call takes no kept files.")),
};

type Piece = Buffer | ReadableAsset;

/** RFC 7578. */
async function multipart(parts: readonly Part[], boundary: string, assets: Pick<Assets, "read">): Promise<Piece[]> {
  const pieces: Piece[] = [];
  for (const part of parts) {
    const { name, text, base64 } = part;
    const kept = part.asset === undefined ? undefined : await assets.read(part.asset);
    const filename = part.filename ?? kept?.name;
    const contentType = part.contentType ?? kept?.type;
    const file = filename === undefined ? "" : `; filename="${quoted(filename)}"`;
    const type = contentType === undefined ? "" : `Content-Type: ${contentType}\r\n`;
    pieces.push(
      Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; name="${quoted(name)}"${file}\r\n${type}\r\n`),
      kept ?? (base64 === undefined ? Buffer.from(text ?? "") : Buffer.from(base64, "base64")),
      Buffer.from("\r\n"),
    );
  }
  pieces.push(Buffer.from(`--${boundary}--\r\n`));
  return pieces;
}

function joined(pieces: readonly Piece[]): Pick<WireBody, "payload" | "length"> {
  const buffers = pieces.filter((piece) => Buffer.isBuffer(piece));
  if (buffers.length === pieces.length) return { payload: Buffer.concat(buffers) };
  async function* chunks(): AsyncGenerator<Uint8Array> {
    for (const piece of pieces) {
      if (Buffer.isBuffer(piece)) yield piece;
      else yield* piece.stream();
    }
  }
  const length = pieces.reduce((sum, piece) => sum + (Buffer.isBuffer(piece) ? piece.length : piece.size), 0);
  return { payload: () => ReadableStream.from(chunks()), length };
}

/** WHATWG HTML, "multipart/form-data encoding algorithm": these three are escaped. */
function quoted(text: string): string {
  return text.replaceAll("\n", "%0A").replaceAll("\r", "%0D").replaceAll('"', "%22");
}
