// perdure/server: the HTTP API and the dashboard, as a handler or on a port, and a client for it.

export { auditToFile, type AuditEntry, type AuditSink } from "./audit.ts";
export type { Authenticate } from "./access.ts";
export {
  HttpClient,
  type BulkAction,
  type BulkOptions,
  type BulkResult,
  type HttpStartOptions,
} from "./http-client.ts";
export { HttpHandle, type HttpInstance } from "./http-handle.ts";
export { HttpProblemError, type HttpClientOptions } from "./http-transport.ts";
export type * from "./json-types.ts";
export { serve, type Listening, type ListenOptions } from "./listen.ts";
export { nodeListener, type NodeListener } from "./node-listener.ts";
export { openApiDocument } from "./document.ts";
export { API_PATH } from "./openapi.ts";
export type { ServerLimits, ServerOptions } from "./options.ts";
export { HTTP_CODES, type HttpCode, type Problem, type ProblemCode } from "./problems.ts";
export { ROLES, type Principal, type Role } from "./roles.ts";
export { PerdureServer, perdureServer } from "./server.ts";
export { createToken, type TokenEntry, type TokenSource } from "./tokens.ts";
export { tokensFromFile } from "./token-file.ts";
