# syntax=docker/dockerfile:1

# Production packages only. Without install scripts: the optional `node` package then brings no second Node, and native
# parts (isolated-vm, esbuild) come built inside their packages.
FROM node:24-bookworm-slim AS packages
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev --ignore-scripts && npm cache clean --force

FROM node:24-bookworm-slim
ENV NODE_ENV=production \
    NODE_COMPILE_CACHE=/var/cache/jackfield \
    JACKFIELD_HOST=0.0.0.0 \
    JACKFIELD_PORT=7420 \
    JACKFIELD_DATA_DIR=/data \
    JACKFIELD_CONFIG_DIR=/data/config
WORKDIR /app
RUN install -d -o node -g node -m 0700 /data /var/cache/jackfield
COPY --from=packages /app/node_modules ./node_modules
COPY package.json launch.js LICENSE ./
COPY adapters ./adapters
COPY examples ./examples
COPY migrations ./migrations
COPY public ./public
COPY sandbox ./sandbox
COPY server ./server
USER node
VOLUME ["/data"]
EXPOSE 7420
# The slim image has no curl; Node has fetch.
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.JACKFIELD_PORT}/health`).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
# Node itself, not npm and not the launcher, so that SIGTERM and SIGHUP arrive at the server.
CMD ["node", "server/main.ts"]
