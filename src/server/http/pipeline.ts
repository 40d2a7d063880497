// The pipeline of every request: host and origin, credentials, rate limit, role, body, handler, audit,
// answer.
//   - The first failing check ends the request: nothing after it runs and nothing changes.
//   - Every change by an authenticated caller is audited, including refused ones (S35).
//   - An error becomes a problem document. The details of an unexpected error go only to the log (S34).

import type { Context } from "hono";
import { parseRequestId } from "../../core/ids/ids.ts";
import { defined } from "../../core/values/defined.ts";
import type { Caller } from "../security/access.ts";
import { writeAudit, type AuditFacts } from "../security/audit.ts";
import { readJson } from "./body.ts";
import { secured } from "../security/headers.ts";
import { checkHost, checkOrigin, type OriginRules } from "../security/origin-check.ts";
import { inTime } from "../../callback/http/in-time.ts";
import { isOurFault, problemOf, Refusal } from "./problems.ts";
import { RateLimit } from "../security/rate-limit.ts";
import { bindRequest } from "./request-binding.ts";
import { Repeats, type Outcome } from "./repeats.ts";
import { factsOf, type RequestFacts } from "../security/request-facts.ts";
import { mayActAs } from "../security/roles.ts";
import type { RawCall, Route } from "./route.ts";
import type { Services } from "../services.ts";

const JSON_TYPE = "application/json";
const TEXT_TYPE = "text/plain; version=0.0.4; charset=utf-8";
const REPEAT = "repeat the request with the same Idempotency-Key.";
/** A route that waits or processes a list may take this many times longer than others. */
const PATIENCE = 10;

export class Pipeline {
  readonly #services: Services;
  readonly #rules: OriginRules;
  readonly #repeats: Repeats;
  readonly #callers: RateLimit;
  readonly #unauthenticated: RateLimit;

  constructor(services: Services, rules: OriginRules) {
    const { settings, provider } = services;
    const monotonic = (): number => provider.environment.monotonic();
    this.#services = services;
    this.#rules = rules;
    this.#repeats = new Repeats(monotonic);
    this.#callers = new RateLimit(settings.limits, monotonic);
    this.#unauthenticated = new RateLimit(settings.limits, monotonic);
  }

  /** `route` null: the path is below the API path, but no route matches it. */
  async answer(context: Context, route: Route | null, base: string): Promise<Response> {
    try {
      return secured(
        await this.#services.slots.request(() => this.#admitted(context, route, base)),
      );
    } catch (error) {
      const { signal } = context.req.raw;
      return this.problem(error, { operation: route?.operation ?? "none" }, signal.aborted);
    }
  }

  /** For paths that need no credentials: the dashboard's files and the health check. */
  async open(context: Context, answer: () => Promise<Response>): Promise<Response> {
    try {
      this.#facts(context);
      return secured(await answer());
    } catch (error) {
      return this.problem(error, { operation: "static" });
    }
  }

  /** `gone`: the caller has disconnected. Errors that result from that are not logged. */
  problem(error: unknown, fields: Readonly<Record<string, unknown>>, gone = false): Response {
    const problem = problemOf(error, this.#services.codec);
    if (isOurFault(problem) && !gone) {
      const cause = error instanceof Error ? (error.cause ?? error) : error;
      this.#services.settings.log("error", `request failed: ${problem.code}`, {
        ...fields,
        error: cause,
      });
    }
    const headers = new Headers(error instanceof Refusal ? error.headers : {});
    headers.set("Content-Type", "application/problem+json");
    return secured(new Response(JSON.stringify(problem), { status: problem.status, headers }));
  }

  async #admitted(context: Context, route: Route | null, base: string): Promise<Response> {
    const request = context.req.raw;
    const facts = this.#facts(context);
    checkOrigin(request, facts, this.#rules);
    const caller = await this.#caller(request, facts);
    this.#callers.take(caller.name);
    if (route === null) throw new Refusal("ROUTE_NOT_FOUND");
    const key = route.changes ? request.headers.get("idempotency-key") : null;
    const call = {
      services: this.#services,
      caller,
      facts,
      request,
      base,
      key: key === null ? undefined : parseRequestId(key),
      binding: {},
      note: () => undefined,
      rawParams: context.req.param(),
      rawBody: undefined,
    };
    if (route.changes) return this.#audited(route, call);
    return (await this.#performed(route, call)).response;
  }

  #facts(context: Context): RequestFacts {
    const { trustProxy } = this.#services.settings;
    const facts = factsOf(context.req.raw, context.env, trustProxy);
    checkHost(facts, this.#rules);
    return facts;
  }

  async #caller(request: Request, facts: RequestFacts): Promise<Caller> {
    try {
      return await this.#services.access.callerOf(request, facts.port);
    } catch (error) {
      if (error instanceof Refusal && error.code === "UNAUTHENTICATED") {
        this.#unauthenticated.take(facts.address);
      }
      throw error;
    }
  }

  async #audited(route: Route, call: RawCall): Promise<Response> {
    const noted: { facts: AuditFacts } = { facts: {} };
    const note = (facts: AuditFacts): void => void (noted.facts = { ...noted.facts, ...facts });
    let result: { status: number; code?: string; replayed?: true; instance?: string } = {
      status: 500,
    };
    try {
      const { response, replayed, made } = await this.#performed(route, { ...call, note });
      result = {
        status: response.status,
        ...(replayed ? { replayed } : {}),
        ...defined({ instance: made }),
      };
      return response;
    } catch (error) {
      const { status, code } = problemOf(error);
      result = { status, code };
      throw error;
    } finally {
      const { caller, facts, request, key } = call;
      const about = call.rawParams["id"];
      await writeAudit(this.#services.settings, {
        at: new Date(this.#services.provider.now()).toISOString(),
        actor: caller.name,
        role: caller.role,
        operation: route.operation,
        method: request.method,
        path: new URL(request.url).pathname,
        ...defined({ instance: about }),
        from: facts.address,
        ...result,
        ...noted.facts,
        ...defined({ requestId: key }),
      });
    }
  }

  async #performed(route: Route, call: RawCall): Promise<Performed> {
    const { settings } = this.#services;
    const { caller, request, key } = call;
    if (route.changes && settings.readOnly) throw new Refusal("READ_ONLY");
    if (!mayActAs(caller, route.role)) {
      throw new Refusal(
        "FORBIDDEN",
        `This operation needs the role ${route.role}; ${caller.name} has the role ${caller.role}.`,
      );
    }
    const body = route.body === null ? undefined : await readJson(request, settings.limits);
    if (route.answer.kind === "events") {
      return { response: await this.#streamed(route, call), replayed: false };
    }
    if (key === undefined)
      return performed(await this.#run(route, { ...call, rawBody: body }), false);
    const binding = bindRequest(key, {
      caller: caller.name,
      operation: route.operation,
      params: call.rawParams,
      search: new URL(request.url).search,
      body,
    });
    const run = (): Promise<Outcome> => this.#run(route, { ...call, binding, rawBody: body });
    if (route.repeats === "store") return performed(await run(), false);
    const holds = (outcome: Outcome): Promise<boolean> => this.#holds(route, call, outcome);
    const { outcome, replayed } = await this.#repeats.once(binding, run, holds);
    return performed(outcome, replayed);
  }

  /**
   * Whether the instance of the outcome still exists and is the same one (repeats.1). Not checked for a
   * deletion.
   */
  async #holds(route: Route, { rawParams }: RawCall, { made, at }: Outcome): Promise<boolean> {
    const about = made ?? rawParams["id"];
    if (about === undefined || route.method === "DELETE") return true;
    const record = await this.#services.provider.readInstance(about);
    return record !== null && record.createdAt <= at;
  }

  async #run(route: Route, call: RawCall): Promise<Outcome> {
    const { answerMs } = this.#services.settings.limits;
    const patience = route.patient ? PATIENCE * answerMs : answerMs;
    const { content, headers = {} } = await inTime(route.run(call), patience, REPEAT);
    const { kind, status } = route.answer;
    const at = this.#services.provider.now();
    if (kind === "empty") return { status, at, text: null, headers };
    if (kind === "text") {
      const typed = { ...headers, "Content-Type": TEXT_TYPE };
      return { status, at, text: String(content), headers: typed };
    }
    return {
      status,
      at,
      text: JSON.stringify(content),
      headers: { ...headers, "Content-Type": JSON_TYPE },
      ...madeInstance(status, content),
    };
  }

  async #streamed(route: Route, call: RawCall): Promise<Response> {
    // Tells a reverse proxy (nginx) not to buffer the events.
    const headers = { "Content-Type": "text/event-stream", "X-Accel-Buffering": "no" };
    // For HEAD the router drops the body. A stream would stay open, because nothing would read or close it.
    if (call.request.method === "HEAD") return new Response(null, { headers });
    const { content } = await inTime(
      route.run(call),
      this.#services.settings.limits.answerMs,
      REPEAT,
    );
    if (!(content instanceof ReadableStream))
      throw new TypeError("the handler of a stream route returned no stream");
    return new Response(content, { headers });
  }
}

interface Performed {
  readonly response: Response;
  readonly replayed: boolean;
  readonly made?: string;
}

function performed({ status, text, headers, made }: Outcome, replayed: boolean): Performed {
  const response = new Response(text, { status, headers: new Headers(headers) });
  if (replayed) response.headers.set("Idempotency-Replayed", "true");
  return { response, replayed, ...defined({ made }) };
}

/** The instance that a start or a fork created. */
function madeInstance(status: number, content: unknown): { made?: string } {
  const made = status === 201 ? (content as { readonly id?: unknown }).id : undefined;
  return typeof made === "string" ? { made } : {};
}
