// Requests: servers that answer them, and the asks and raises of other instances and of clients.
//   - A server handles a request and records its key in one turn, so the keys show how often each request was
//        handled (check-server.ts).

import type { OrchestrationContext, RequestCall } from "../../../core/context/types.ts";
import { request } from "../../../core/define/request.ts";
import { isPerdureError } from "../../../core/errors/errors.ts";
import { RequestError } from "../../../core/errors/request-error.ts";
import type { Hand } from "../world/workload.ts";
import { asked, mix } from "./expected.ts";
import {
  plainWork,
  type AskNode,
  type Program,
  type RequestData,
  type ServeNode,
} from "./program.ts";

/** The orchestration of root instances. */
export const ROOT = "root";
const REQUEST = request<RequestData, number>("request");
/** The key-value with the keys of the handled requests. */
export const HANDLED = "handled";
/** How long a client waits for an answer before it asks again. */
const ASK_TIMEOUT = "10m";

/** Handles the requests of one execution. */
export async function serve(ctx: OrchestrationContext, node: ServeNode): Promise<void> {
  let left = node.perExecution;
  if (node.how === "loop") {
    for await (const call of ctx.requests(REQUEST)) {
      await handle(ctx, call);
      if (--left <= 0) return;
    }
  }
  const enough = Promise.withResolvers<void>();
  const served = ctx.serve(
    REQUEST,
    async (_, call) => {
      await handle(ctx, call);
      if (--left <= 0) enough.resolve();
    },
    { serial: node.how === "serial" },
  );
  served.catch(enough.reject);
  await enough.promise;
}

async function handle(
  ctx: OrchestrationContext,
  call: RequestCall<RequestData, number>,
): Promise<void> {
  const { key, salt, style, ms } = call.input;
  let error: unknown = style === "fail" ? new Error("scripted") : null;
  if (style === "wait") await ctx.sleep(ms);
  if (style === "work") {
    error = await ctx.run("work", plainWork(salt, ms)).then(
      () => null,
      (failure: unknown) => failure,
    );
  }
  if (isPerdureError(error, "CANCELLED")) throw error;
  ctx.kv.set(HANDLED, [...((ctx.kv.get(HANDLED) as readonly string[] | undefined) ?? []), key]);
  if (error !== null) call.fail(error);
  else if (style === "refuse") call.refuse("scripted");
  else call.answer(mix(salt));
}

export async function ask(ctx: OrchestrationContext, node: AskNode): Promise<unknown> {
  const { to, start, key, salt, style, ms } = node;
  const input = { rounds: [start], undo: [], end: "return" };
  try {
    return await ctx.ask(
      to,
      REQUEST,
      { key, salt, style, ms },
      start === null ? {} : { start: { orchestration: ROOT, input } },
    );
  } catch (error) {
    return outcomeOf(error);
  }
}

function outcomeOf(error: unknown): readonly string[] {
  if (error instanceof RequestError) return asked(error.kind);
  for (const code of ["INSTANCE_FINISHED", "INSTANCE_NOT_FOUND"] as const) {
    if (isPerdureError(error, code)) return asked(code);
  }
  throw error;
}

export async function raise(
  ctx: OrchestrationContext,
  { to, name, value }: Extract<Program, { op: "raise" }>,
): Promise<string> {
  await ctx.raise(to, name, value, { ifMissing: "keep" });
  return "raised";
}

/** A client asks, and asks again with the same request id if no answer came in time. */
export async function askServer({ client }: Hand, id: string, sent: RequestData): Promise<void> {
  for (;;) {
    const options = { requestId: sent.key, timeout: ASK_TIMEOUT } as const;
    try {
      const answer = await client.get(id).ask(REQUEST, sent, options);
      if (answer === mix(sent.salt) && !["refuse", "fail"].includes(sent.style)) return;
      throw new Error(`${id} answered ${JSON.stringify(sent)} with ${JSON.stringify(answer)}.`);
    } catch (error) {
      if (isPerdureError(error, "TIMEOUT")) continue;
      if (!(error instanceof RequestError)) throw error;
      if (error.failure.code === "CANCELLED") return; // with the server
      if (sent.style === "answer" || sent.style === "wait") throw error;
      return;
    }
  }
}
