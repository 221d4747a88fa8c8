/** An OpenAPI service and a declared HTTP API beside each other, from their files to a client's call. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type AnyClient, connect, textOf } from "./fixtures/clients.ts";
import { type Product, startProduct } from "./fixtures/product.ts";
import { type RecordingService, startRecordingService } from "./fixtures/recording-service.ts";

const DOCUMENT = `
openapi: 3.0.3
info: { title: CRM, version: 1 }
components:
  securitySchemes:
    app: { type: apiKey, in: header, name: X-App }
    user: { type: http, scheme: basic }
security: [{ app: [], user: [] }]
paths:
  /customers/{customerId}:
    get:
      operationId: getCustomer
      summary: One customer
      parameters:
        - { name: customerId, in: path, required: true, schema: { type: string } }
        - { name: "filter[city]", in: query, schema: { type: string } }
    put:
      operationId: putCustomer
      parameters:
        - { name: customerId, in: path, required: true, schema: { type: string } }
      requestBody: { content: { application/json: { schema: { type: object, required: [name], properties: { name: { type: string } } } } } }
`;

describe("HTTP APIs in the product", () => {
  let service: RecordingService;
  let product: Product;
  let client: AnyClient;

  before(async () => {
    service = await startRecordingService();
    process.env["CRM_APP"] = "app-key-123";
    process.env["CRM_PASSWORD"] = "password-123";
    const app = { method: "api_key", name: "X-App", secret: `\${env:CRM_APP}` };
    const user = { method: "basic", username: "ann", secret: `\${env:CRM_PASSWORD}` };
    product = await startProduct({
      connections: {
        crm: {
          type: "openapi",
          spec: "./crm.yaml",
          baseUrl: `${service.url}/crm`,
          auth: { method: "several", schemes: { app, user } },
          access: "suggested",
        },
        deploys: {
          type: "http",
          baseUrl: `${service.url}/deploys`,
          endpoints: [
            { name: "list", method: "GET", path: "/{service}", arguments: { limit: { type: "integer", default: 5 } } },
          ],
          access: { read: { tools: ["list"] } },
        },
      },
      files: { "connections/crm.yaml": DOCUMENT },
    });
    client = await connect("v1", product.url, await product.token());
  });
  after(async () => {
    await client.close();
    await product[Symbol.asyncDispose]();
    await service.close();
  });

  it("shows operations as reads and writes, and calls them with the names of the wire and every credential", async () => {
    const args = { customerId: "a/1", filter_city: "Bonn" };
    const result = await client.callTool({
      name: "tool_read",
      arguments: { name: "crm__get_customer", arguments: args },
    });
    assert.notEqual(result.isError, true, textOf(result));
    const { url, headers } = service.last();
    assert.equal(url, "/crm/customers/a%2F1?filter%5Bcity%5D=Bonn");
    assert.equal(headers["x-app"], "app-key-123");
    assert.equal(headers.authorization, `Basic ${Buffer.from("ann:password-123").toString("base64")}`);
    const write = { name: "crm__put_customer", arguments: { customerId: "1", body: { name: "Ann" } } };
    assert.equal((await client.callTool({ name: "tool_read", arguments: write })).isError, true, "a PUT is no read");
    assert.notEqual((await client.callTool({ name: "tool_write", arguments: write })).isError, true);
    assert.equal(service.last().body.toString(), '{"name":"Ann"}');
  });

  it("refuses arguments that do not fit, before anything is sent", async () => {
    const sent = service.requests.length;
    const write = { name: "crm__put_customer", arguments: { customerId: "1", body: {} } };
    const result = await client.callTool({ name: "tool_write", arguments: write });
    assert.equal(result.isError, true);
    assert.match(textOf(result), /body: must have required property 'name'/);
    assert.equal(service.requests.length, sent);
  });

  it("calls declared endpoints, with their defaults", async () => {
    const list = { name: "deploys__list", arguments: { service: "web" } };
    const result = await client.callTool({ name: "tool_read", arguments: list });
    assert.notEqual(result.isError, true, textOf(result));
    assert.equal(service.last().url, "/deploys/web?limit=5");
    assert.equal(service.last().headers["x-app"], undefined);
  });

  it("takes what a service echoes of its secrets out of the answer", async () => {
    const args = { customerId: "app-key-123" };
    const result = await client.callTool({
      name: "tool_read",
      arguments: { name: "crm__get_customer", arguments: args },
    });
    assert.match(textOf(result), /\[secret\]/);
    assert.doesNotMatch(JSON.stringify(result), /app-key-123/);
  });
});
