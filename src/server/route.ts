// Routes as data: one row says how a route is called, who may call it, what goes in and what comes out. The router,
// the OpenAPI document and the tests of access are all made from these rows.
//   RT1. What a handler receives has passed the row's schemas; what it returns is typed by the row's answer.
//   RT2. A row that changes something says so: it is refused in read-only mode, audited, and may be repeated with
//        an Idempotency-Key.

import type * as v from "valibot";
import type { Caller } from "./access.ts";
import type { AuditFacts } from "./audit.ts";
import { parse, parseQuery, type QuerySchema, type Schema } from "./parse.ts";
import type { HttpCode } from "./problems.ts";
import type { ErrorCode } from "../core/errors.ts";
import type { RequestBinding } from "./request-binding.ts";
import type { RequestFacts } from "./request-facts.ts";
import type { Role } from "./roles.ts";
import type { Services } from "./services.ts";

export type Answer =
  | { readonly kind: "json"; readonly status: 200 | 201; readonly schema: Schema }
  | { readonly kind: "empty"; readonly status: 204 }
  | { readonly kind: "events"; readonly status: 200; readonly schema: Schema }
  | { readonly kind: "text"; readonly status: 200 };

/** What every handler has, whatever its row says. */
export interface CallBase {
  readonly services: Services;
  readonly caller: Caller;
  readonly facts: RequestFacts;
  readonly request: Request;
  /** Where the server is mounted: "" or such as "/perdure". */
  readonly base: string;
  /** The Idempotency-Key. */
  readonly key: string | undefined;
  /** What the store knows the request by, if it has a key; spread into the options of a call. */
  readonly binding: Partial<RequestBinding>;
  /** More for the audit line of the request. */
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
  /** JSON, a stream of server-sent events, or a text. */
  readonly content?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

interface Description {
  readonly method: "GET" | "POST" | "DELETE";
  /** Below /api/v1, with `:name` for what varies. */
  readonly path: string;
  /** The operation's id in the OpenAPI document. */
  readonly operation: string;
  readonly summary: string;
  readonly tag: string;
  readonly role: Role;
  /** Whether the store changes. */
  readonly changes: boolean;
  readonly answer: Answer;
  /** Refusals of its own, besides those that every route has. */
  readonly errors: readonly (ErrorCode | HttpCode)[];
  /** It may take its time: it waits for something, or works through a list. */
  readonly patient: boolean;
}
export interface Route extends Description {
  readonly params: Schema | null;
  readonly query: QuerySchema | null;
  readonly body: Schema | null;
  run(call: RawCall): Promise<Result>;
}

type Out<S extends Schema | undefined> = S extends Schema ? v.InferOutput<S> : undefined;

interface Row<P, Q, B, R> extends Omit<Description, "answer" | "changes" | "errors" | "patient"> {
  readonly params?: P;
  readonly query?: Q;
  readonly body?: B;
  readonly errors?: Description["errors"];
  readonly patient?: true;
  /** Default: whatever is not a GET. */
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
export function answers<
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

/** A route that answers with nothing but its headers. */
export function acts<
  P extends Schema | undefined = undefined,
  Q extends QuerySchema | undefined = undefined,
  B extends Schema | undefined = undefined,
>(row: Row<P, Q, B, Handler<P, Q, B, void | Result>>): Route {
  const { run } = row;
  return finished(row, { kind: "empty", status: 204 }, async (call) => (await run(call)) ?? {});
}

/** A route that answers with server-sent events, each of which has data of the schema's shape. */
export function streams<
  A extends Schema,
  P extends Schema | undefined = undefined,
  Q extends QuerySchema | undefined = undefined,
>(
  row: Row<P, Q, undefined, Handler<P, Q, undefined, ReadableStream<Uint8Array>>> & {
    readonly events: A;
  },
): Route {
  const { events: schema, run } = row;
  return finished(row, { kind: "events", status: 200, schema }, async (call) => ({
    content: await run(call),
  }));
}

/** A route that answers with a text of its own. */
export function tells(
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
    params: row.params ?? null,
    query: row.query ?? null,
    body: row.body ?? null,
    run: ({ rawParams, rawBody, ...call }) =>
      run({
        ...call,
        // An absent schema's output is undefined, which the conditional type of `Out` cannot see here.
        params: (row.params && parse(row.params, rawParams, "path")) as Out<P>,
        query: parseQuery(row.query, call.request.url) as Out<Q>,
        body: (row.body && parse(row.body, rawBody ?? {}, "body")) as Out<B>,
      }),
  };
}
