/** `node:zlib` without brotli; the worker has decoded bodies before they arrive here. */
import zlib from "browserify-zlib";
import { standIn } from "./unavailable.ts";

const codes = Object.fromEntries(Object.entries(zlib).filter(([name]) => /^Z_[A-Z_]+$/.test(name)));

export const zlibModule = {
  ...zlib,
  constants: {
    Z_NO_FLUSH: 0,
    Z_PARTIAL_FLUSH: 1,
    Z_SYNC_FLUSH: 2,
    Z_FULL_FLUSH: 3,
    Z_FINISH: 4,
    Z_DEFAULT_COMPRESSION: -1,
    Z_DEFAULT_STRATEGY: 0,
    // axios asks for these while it loads.
    BROTLI_OPERATION_FLUSH: 1,
    BROTLI_OPERATION_FINISH: 2,
    BROTLI_PARAM_QUALITY: 1,
    ...codes,
  },
  createBrotliCompress: standIn("zlib.createBrotliCompress"),
  createBrotliDecompress: standIn("zlib.createBrotliDecompress"),
  brotliCompress: standIn("zlib.brotliCompress"),
  brotliCompressSync: standIn("zlib.brotliCompressSync"),
  brotliDecompress: standIn("zlib.brotliDecompress"),
  brotliDecompressSync: standIn("zlib.brotliDecompressSync"),
};
