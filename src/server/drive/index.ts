// perdure/serverless: drives a Perdure by HTTP requests, where no process runs all the time.
//   It uses nothing else of the server, so that a function loads little.
//   Owns: the handler, its access check and the order of its drives. Does not own: the drive itself (runtime/drive.ts).
//   On failure: the caller gets a status and an error code, and can repeat the request. Leases end by themselves.

export { driveHandler } from "./drive-handler.ts";
export type { DriveHandler, DriveHandlerOptions, Driver } from "./drive-handler.ts";
