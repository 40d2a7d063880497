// perdure/server: the HTTP API and the dashboard of a store, and a client for the HTTP API.
//   - `serve` listens on a port. `perdureServer` returns a Hono application to mount in another server,
//        and `nodeListener` adapts it to Express, Fastify, Connect and `node:http`.
//   - Requests pass through http/pipeline.ts: host and origin, credentials (security/), rate limit, role,
//        body, then the handler of the route (routes/). schemas/ defines requests and answers, wire/ and
//        views/ convert the library's objects to JSON, api/ makes the OpenAPI document from the routes.
//   - The server owns no store: closing the server leaves the store open.
//   - Errors become problem documents (RFC 9457). Unexpected errors are logged, and the answer contains
//        only a code.

export { auditToFile, type AuditEntry, type AuditSink } from "./security/audit.ts";
export type { Authenticate } from "./security/access.ts";
export {
  HttpClient,
  type BulkAction,
  type BulkOptions,
  type BulkResult,
  type HttpEnqueueOptions,
  type HttpStartOptions,
} from "./client/http-client.ts";
export {
  HttpHandle,
  type HttpForkOptions,
  type HttpInstance,
  type HttpRewindReport,
} from "./client/http-handle.ts";
export { HttpProblemError, type HttpClientOptions } from "./client/http-transport.ts";
export type * from "./client/json-types.ts";
export { serve, type Listening, type ListenOptions } from "./http/listen.ts";
export { nodeListener, type NodeListener } from "./http/node-listener.ts";
export { openApiDocument } from "./api/document.ts";
export { API_PATH } from "./api/openapi.ts";
export type { ServerLimits, ServerOptions } from "./options.ts";
export { HTTP_CODES, type HttpCode, type Problem, type ProblemCode } from "./http/problems.ts";
export { ROLES, type Principal, type Role } from "./security/roles.ts";
export { PerdureServer, perdureServer } from "./server.ts";
export { createToken, type TokenEntry, type TokenSource } from "./security/tokens.ts";
export { tokensFromFile } from "./security/token-file.ts";
