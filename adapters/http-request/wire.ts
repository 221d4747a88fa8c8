/** The body of a request as bytes. */
import { randomBytes } from "node:crypto";
import { type Body, formText, type Part } from "./body.ts";

export interface WireBody {
  /** Undefined where there is none; may be sent again as it is. */
  payload: string | Uint8Array | undefined;
  contentType: string | undefined;
}

/** @param contentType as declared; multipart gets its boundary here */
export function wireBody(body: Body, contentType: string | undefined): WireBody {
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
    case "multipart": {
      const boundary = `jackfield-${randomBytes(16).toString("hex")}`;
      const [type = "multipart/form-data"] = (contentType ?? "").split(";");
      return {
        payload: multipart(body.parts, boundary),
        contentType: `${type || "multipart/form-data"}; boundary=${boundary}`,
      };
    }
  }
}

/** RFC 7578. */
function multipart(parts: readonly Part[], boundary: string): Uint8Array {
  const chunks: Buffer[] = [];
  for (const { name, filename, contentType, text, base64 } of parts) {
    const file = filename === undefined ? "" : `; filename="${quoted(filename)}"`;
    const type = contentType === undefined ? "" : `Content-Type: ${contentType}\r\n`;
    chunks.push(
      Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; name="${quoted(name)}"${file}\r\n${type}\r\n`),
    );
    chunks.push(base64 === undefined ? Buffer.from(text ?? "") : Buffer.from(base64, "base64"), Buffer.from("\r\n"));
  }
  chunks.push(Buffer.from(`--${boundary}--\r\n`));
  return Buffer.concat(chunks);
}

/** WHATWG HTML, "multipart/form-data encoding algorithm": these three are escaped. */
function quoted(text: string): string {
  return text.replaceAll("\n", "%0A").replaceAll("\r", "%0D").replaceAll('"', "%22");
}
