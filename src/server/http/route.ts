// Routes as data: a row defines method, path, role, request schemas and answer of a route. The router, the
// OpenAPI document and the access tests are generated from these rows.
//   - A handler receives a request that was validated by the row's schemas. The row's answer schema is its
//        return type.
//   - A row with `changes` is refused in read-only mode, is audited, and can be repeated with an
//        Idempotency-Key.

import type * as v from "valibot";
import type { Caller } from "../security/access.ts";
import type { AuditFacts } from "../security/audit.ts";
import { parse, parseQuery, type QuerySchema, type Schema } from "./parse.ts";
import type { HttpCode } from "./problems.ts";
import type { ErrorCode } from "../../core/errors/errors.ts";
import type { RequestBinding } from "./request-binding.ts";
import type { RequestFacts } from "../security/request-facts.ts";
import type { Role } from "../security/roles.ts";
import type { Services } from "../services.ts";

export type Answer =
  | { readonly kind: "json"; readonly status: 200 | 201; readonly schema: Schema }
  | { readonly kind: "empty"; readonly status: 204 }
  | {
      readonly kind: "events";
      readonly status: 200;
      readonly schema: Schema;
      /** Whether Last-Event-ID resumes the stream. 204: the client has received all of it. */
      readonly resumes: boolean;
    }
  | { readonly kind: "text"; readonly status: 200 };

/** The part of a call that every handler receives. */
export interface CallBase {
  readonly services: Services;
  readonly caller: Caller;
  readonly facts: RequestFacts;
  readonly request: Request;
  /** The mount path of the server: "" or a path such as "/perdure". */
  readonly base: string;
  /** The Idempotency-Key. */
  readonly key: string | undefined;
  /**
   * The request id and digest for the store, if the request has a key. Handlers spread it into call options.
   */
  readonly binding: Partial<RequestBinding>;
  /** Adds facts to the audit entry of the request. */
  readonly note: (facts: AuditFacts) => void;
}
export interface Call<Params, Query, Body> extends CallBase {
  readonly params: Params;
  readonly query: Query;
  readonly body: Body;
}
export interface RawCall extends CallBase {
  readonly rawParams: Readonly<Record<string, string>>;
  readonly rawBody: unknown;
}
export interface Result {
  /** JSON, a stream of server-sent events, or text. */
  readonly content?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

interface Description {
  readonly method: "GET" | "POST" | "DELETE";
  /** The path below /api/v1, with `:name` for parameters. */
  readonly path: string;
  /** The operation's id in the OpenAPI document. */
  readonly operation: string;
  readonly summary: string;
  readonly tag: string;
  readonly role: Role;
  /** Whether the route changes the store. */
  readonly changes: boolean;
  readonly answer: Answer;
  /** Error codes of this route, in addition to those of every route. */
  readonly errors: readonly (ErrorCode | HttpCode)[];
  /** Whether the route has a longer timeout, because it waits or processes a list. */
  readonly patient: boolean;
  /**
   * What answers a repeated Idempotency-Key. "server": the server's cache of answers, then the store. "store": the
   * store alone, because it keeps the answers of these operations.
   */
  readonly repeats: "server" | "store";
}
export interface Route extends Description {
  readonly params: Schema | null;
  readonly query: QuerySchema | null;
  readonly body: Schema | null;
  run(call: RawCall): Promise<Result>;
}

type Out<S extends Schema | undefined> = S extends Schema ? v.InferOutput<S> : undefined;

interface Row<P, Q, B, R> extends Omit<
  Description,
  "answer" | "changes" | "errors" | "patient" | "repeats"
> {
  readonly params?: P;
  readonly query?: Q;
  readonly body?: B;
  readonly errors?: Description["errors"];
  readonly patient?: true;
  /** Default "server". */
  readonly repeats?: "store";
  /** Default: true for every method but GET. */
  readonly changes?: boolean;
  readonly run: R;
}
type Handler<
  P extends Schema | undefined,
  Q extends QuerySchema | undefined,
  B extends Schema | undefined,
  T,
> = (call: Call<Out<P>, Out<Q>, Out<B>>) => Promise<T>;

/** A route that answers with JSON. */
export function jsonRoute<
  A extends Schema,
  P extends Schema | undefined = undefined,
  Q extends QuerySchema | undefined = undefined,
  B extends Schema | undefined = undefined,
>(
  row: Row<P, Q, B, Handler<P, Q, B, v.InferInput<A>>> & {
    readonly answer: A;
    readonly status?: 200 | 201;
  },
): Route {
  const { answer: schema, status = 200, run } = row;
  return finished(row, { kind: "json", status, schema }, async (call) => ({
    content: await run(call),
  }));
}

/** A route that answers with headers only (204). */
export function emptyRoute<
  P extends Schema | undefined = undefined,
  Q extends QuerySchema | undefined = undefined,
  B extends Schema | undefined = undefined,
>(row: Row<P, Q, B, Handler<P, Q, B, void | Result>>): Route {
  const { run } = row;
  return finished(row, { kind: "empty", status: 204 }, async (call) => (await run(call)) ?? {});
}

/**
 * A route that answers with server-sent events. The schema describes the data of an event. Null: the stream that the
 * client resumes has no further events.
 */
export function eventRoute<
  A extends Schema,
  P extends Schema | undefined = undefined,
  Q extends QuerySchema | undefined = undefined,
>(
  row: Row<P, Q, undefined, Handler<P, Q, undefined, ReadableStream<Uint8Array> | null>> & {
    readonly events: A;
    readonly resumes?: true;
  },
): Route {
  const { events: schema, resumes = false, run } = row;
  return finished(row, { kind: "events", status: 200, schema, resumes }, async (call) => ({
    content: await run(call),
  }));
}

/** A route that answers with plain text. */
export function textRoute(
  row: Row<undefined, undefined, undefined, Handler<undefined, undefined, undefined, string>>,
): Route {
  const { run } = row;
  return finished(row, { kind: "text", status: 200 }, async (call) => ({
    content: await run(call),
  }));
}

function finished<
  P extends Schema | undefined,
  Q extends QuerySchema | undefined,
  B extends Schema | undefined,
>(row: Row<P, Q, B, unknown>, answer: Answer, run: Handler<P, Q, B, Result>): Route {
  const { method, path, operation, summary, tag, role, errors = [] } = row;
  return {
    method,
    path,
    operation,
    summary,
    tag,
    role,
    errors,
    answer,
    changes: row.changes ?? method !== "GET",
    patient: row.patient ?? false,
    repeats: row.repeats ?? "server",
    params: row.params ?? null,
    query: row.query ?? null,
    body: row.body ?? null,
    run: ({ rawParams, rawBody, ...call }) =>
      run({
        ...call,
        // Without a schema the value is undefined. TypeScript cannot derive that from the conditional type
        // `Out`.
        params: (row.params && parse(row.params, rawParams, "path")) as Out<P>,
        query: parseQuery(row.query, call.request.url) as Out<Q>,
        body: (row.body && parse(row.body, rawBody ?? {}, "body")) as Out<B>,
      }),
  };
}
