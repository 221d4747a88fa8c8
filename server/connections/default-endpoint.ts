/** The endpoint that every organization's first environment has, declared or not: `/mcp`. */
export const DEFAULT_ENDPOINT = "default";
