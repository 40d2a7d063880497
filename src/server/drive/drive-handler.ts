// The drive handler: answers a web-standard request by a drive.
//   - drive-handler.1: A request without the secret gets 401, and nothing else happens. The comparison takes constant time.
//   - drive-handler.2: One drive runs at a time. Requests that arrive during a drive share one further drive, which begins
//     when the first has ended: the running drive may have looked for work before theirs was written.
//   - drive-handler.3: `wake` is awaited before the response, because a platform may freeze the process after it. Its errors
//     are logged: the response has `nextAt`, too.

import { createHash, timingSafeEqual } from "node:crypto";
import { checkInteger, checkMembers, invalidArgument, type Members } from "../../core/checks.ts";
import type { DriveOptions, DriveResult } from "../../core/define/drive.ts";
import { errorMessage, isPerdureError, type ErrorCode } from "../../core/errors/errors.ts";
import { consoleLog } from "../../core/telemetry/console-log.ts";
import type { LogSink } from "../../core/telemetry/log.ts";

const SECRET_MIN = 16;
const BEARER = /^Bearer +(\S+) *$/i;
const STATUSES: Partial<Record<ErrorCode, number>> = {
  DRIVE_RUNNING: 409,
  SHUTTING_DOWN: 503,
  STORE_UNAVAILABLE: 503,
  STORE_MOVED: 503,
};
const OPTIONS: Members<DriveHandlerOptions> = { secret: true, wake: true, maxMs: true, log: true };

/** What the handler drives: a `Perdure` that was opened with `autoStart: false`. */
export interface Driver {
  drive(options: DriveOptions): Promise<DriveResult>;
}

/** Options of `driveHandler`. */
export interface DriveHandlerOptions extends DriveOptions {
  /** The caller sends it as `Authorization: Bearer <secret>`. At least 16 characters, without spaces. */
  readonly secret: string;
  /** Called after each drive, unless nothing comes due: makes sure that the handler is called again at that time. */
  readonly wake?: (nextAt: Date) => unknown;
  /** Where errors go; default: the console. */
  readonly log?: LogSink;
}

/** Handlers of web-standard requests, one per method. */
export interface DriveHandler {
  readonly GET: (request: Request) => Promise<Response>;
  readonly POST: (request: Request) => Promise<Response>;
}

/**
 * Handlers that work off what is due and answer with `{ turns, attempts, idle, nextAt }`. `driver` may be a function, which is
 * called at the first request and again if it failed.
 */
export function driveHandler(
  driver: Driver | (() => Driver | Promise<Driver>),
  options: DriveHandlerOptions,
): DriveHandler {
  checkMembers(options, OPTIONS, "driveHandler");
  const { secret, wake, maxMs, log = consoleLog() } = options;
  checkInteger(maxMs, 1, "maxMs");
  const isAllowed = checkOf(secret);
  const drives = new Drives(
    typeof driver === "function" ? driver : () => driver,
    async (opened) => {
      const result = await opened.drive(maxMs === undefined ? {} : { maxMs });
      try {
        // drive-handler.3
        if (result.nextAt !== null) await wake?.(result.nextAt);
      } catch (error) {
        const what = `drive handler: wake failed: ${errorMessage(error)}`;
        log("error", what, { nextAt: result.nextAt?.toISOString() });
      }
      return result;
    },
  );
  const handle = async (request: Request): Promise<Response> => {
    if (!isAllowed(request.headers.get("authorization"))) return refused();
    try {
      return answer(200, await drives.next());
    } catch (error) {
      const code = isPerdureError(error) ? error.code : null;
      log("error", `drive handler: ${errorMessage(error)}`, code === null ? {} : { code });
      const status = (code === null ? undefined : STATUSES[code]) ?? 500;
      const message = code === null ? "The drive failed; see the log." : errorMessage(error);
      return answer(status, { error: { code: code ?? "INTERNAL", message } });
    }
  };
  return { GET: handle, POST: handle };
}

/** drive-handler.2 */
class Drives {
  readonly #open: () => Driver | Promise<Driver>;
  readonly #drive: (driver: Driver) => Promise<DriveResult>;
  #driver: Promise<Driver> | null = null;
  #running: Promise<DriveResult> | null = null;
  #waiting: Promise<DriveResult> | null = null;

  constructor(
    open: () => Driver | Promise<Driver>,
    drive: (driver: Driver) => Promise<DriveResult>,
  ) {
    this.#open = open;
    this.#drive = drive;
  }

  next(): Promise<DriveResult> {
    if (this.#running === null) return this.#begin();
    this.#waiting ??= this.#running
      .catch(() => undefined)
      .then(() => {
        this.#waiting = null;
        return this.#begin();
      });
    return this.#waiting;
  }

  #begin(): Promise<DriveResult> {
    const running = this.#run().finally(() => {
      if (this.#running === running) this.#running = null;
    });
    this.#running = running;
    return running;
  }

  async #run(): Promise<DriveResult> {
    this.#driver ??= Promise.try(this.#open);
    let driver: Driver;
    try {
      driver = await this.#driver;
    } catch (error) {
      this.#driver = null;
      throw error;
    }
    return this.#drive(driver);
  }
}

/** Whether a header has the secret (drive-handler.1). */
function checkOf(secret: unknown): (header: string | null) => boolean {
  if (typeof secret !== "string" || secret.length < SECRET_MIN || /\s/.test(secret)) {
    const got = typeof secret === "string" ? `${secret.length} characters` : typeof secret;
    const rule = `must be a text of at least ${SECRET_MIN} characters without spaces`;
    throw invalidArgument(`driveHandler: secret ${rule}; got ${got}.`);
  }
  const wanted = digest(secret);
  return (header) => {
    const given = BEARER.exec(header ?? "")?.[1] ?? "";
    return timingSafeEqual(digest(given), wanted);
  };
}

/** Texts of any length become equally long. */
function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

function refused(): Response {
  const message = "The request must have the header Authorization: Bearer <secret>.";
  const body = { error: { code: "UNAUTHENTICATED", message } };
  return answer(401, body, { "www-authenticate": "Bearer" });
}

function answer(
  status: number,
  body: object,
  headers: Readonly<Record<string, string>> = {},
): Response {
  return Response.json(body, { status, headers: { "cache-control": "no-store", ...headers } });
}
