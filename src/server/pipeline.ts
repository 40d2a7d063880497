// The way of every request: where it comes from, who it is, whether it may, what it asks, and what is told of it.
//   PI1. A check that fails ends the way: nothing behind it runs, nothing is changed.
//   PI2. Every change of somebody known is in the audit, refused ones included (S35).
//   PI3. What goes wrong becomes a problem document; only the log holds what it was (S34).

import type { Context } from "hono";
import { parseRequestId } from "../core/ids.ts";
import type { Caller } from "./access.ts";
import { Audit, type AuditFacts } from "./audit.ts";
import { readJson } from "./body.ts";
import { secured } from "./headers.ts";
import { checkHost, checkOrigin, type OriginRules } from "./origin-check.ts";
import { inTime } from "./pauses.ts";
import { isOurFault, problemOf, Refusal } from "./problems.ts";
import { RateLimit } from "./rate-limit.ts";
import { bindRequest } from "./request-binding.ts";
import { Repeats, type Outcome } from "./repeats.ts";
import { factsOf, type RequestFacts } from "./request-facts.ts";
import { mayActAs } from "./roles.ts";
import type { RawCall, Route } from "./route.ts";
import type { Services } from "./services.ts";

const JSON_TYPE = "application/json";
const TEXT_TYPE = "text/plain; version=0.0.4; charset=utf-8";
/** How much longer than others a route may take that waits or works through a list. */
const PATIENCE = 10;

export class Pipeline {
  readonly #services: Services;
  readonly #rules: OriginRules;
  readonly #audit: Audit;
  readonly #repeats: Repeats;
  readonly #callers: RateLimit;
  readonly #strangers: RateLimit;

  constructor(services: Services, rules: OriginRules) {
    const { settings, provider } = services;
    const monotonic = (): number => provider.environment.monotonic();
    this.#services = services;
    this.#rules = rules;
    this.#audit = new Audit(settings.audit, settings.log);
    this.#repeats = new Repeats(monotonic);
    this.#callers = new RateLimit(settings.limits, monotonic);
    this.#strangers = new RateLimit(settings.limits, monotonic);
  }

  /** `route` null: the path is the API's, and leads nowhere. */
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

  /** For what is open to everybody on this host: the page, and a sign of life. */
  async open(context: Context, answer: () => Promise<Response>): Promise<Response> {
    try {
      this.#facts(context);
      return secured(await answer());
    } catch (error) {
      return this.problem(error, { operation: "static" });
    }
  }

  /** `gone`: the caller left, and whatever went wrong with that is no news. */
  problem(error: unknown, fields: Readonly<Record<string, unknown>>, gone = false): Response {
    const problem = problemOf(error);
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
        this.#strangers.take(facts.address);
      }
      throw error;
    }
  }

  async #audited(route: Route, call: RawCall): Promise<Response> {
    const noted: { facts: AuditFacts } = { facts: {} };
    const note = (facts: AuditFacts): void => void (noted.facts = { ...noted.facts, ...facts });
    let told: { status: number; code?: string; replayed?: true; instance?: string } = {
      status: 500,
    };
    try {
      const { response, replayed, made } = await this.#performed(route, { ...call, note });
      told = {
        status: response.status,
        ...(replayed ? { replayed } : {}),
        ...(made === undefined ? {} : { instance: made }),
      };
      return response;
    } catch (error) {
      const { status, code } = problemOf(error);
      told = { status, code };
      throw error;
    } finally {
      const { caller, facts, request, key } = call;
      const about = call.rawParams["id"];
      await this.#audit.write({
        at: new Date(this.#services.provider.now()).toISOString(),
        actor: caller.name,
        role: caller.role,
        operation: route.operation,
        method: request.method,
        path: new URL(request.url).pathname,
        ...(about === undefined ? {} : { instance: about }),
        from: facts.address,
        ...told,
        ...noted.facts,
        ...(key === undefined ? {} : { requestId: key }),
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
        `This needs the role ${route.role}; ${caller.name} is ${caller.role}.`,
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
    const holds = (outcome: Outcome): Promise<boolean> => this.#holds(route, call, outcome);
    const { outcome, replayed } = await this.#repeats.once(binding, run, holds);
    return performed(outcome, replayed);
  }

  /** Whether the instance that the outcome is about is still the same one (RP4). A deletion is about none. */
  async #holds(route: Route, { rawParams }: RawCall, { made, at }: Outcome): Promise<boolean> {
    const about = made ?? rawParams["id"];
    if (about === undefined || route.method === "DELETE") return true;
    const record = await this.#services.provider.readInstance(about);
    return record !== null && record.createdAt <= at;
  }

  async #run(route: Route, call: RawCall): Promise<Outcome> {
    const { answerMs } = this.#services.settings.limits;
    const patience = route.patient ? PATIENCE * answerMs : answerMs;
    const { content, headers = {} } = await inTime(route.run(call), patience);
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
    // A proxy in front must not gather what is meant to arrive at once.
    const headers = { "Content-Type": "text/event-stream", "X-Accel-Buffering": "no" };
    // Of a HEAD the router keeps the headers alone: a stream would be open that nobody reads or closes.
    if (call.request.method === "HEAD") return new Response(null, { headers });
    const { content } = await inTime(route.run(call), this.#services.settings.limits.answerMs);
    if (!(content instanceof ReadableStream))
      throw new TypeError("a stream's route gave no stream");
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
  return { response, replayed, ...(made === undefined ? {} : { made }) };
}

/** Which instance a start or a fork has made. */
function madeInstance(status: number, content: unknown): { made?: string } {
  const made = status === 201 ? (content as { readonly id?: unknown }).id : undefined;
  return typeof made === "string" ? { made } : {};
}
