// Ask: sends a request to an instance and waits for its answer.

import { parseInstanceReference } from "../../core/ids/ids.ts";
import { requestName, type AnyRequest } from "../../core/define/request.ts";
import type { Orchestration } from "../../core/define/definitions.ts";
import { askItem, askWait, checkAsk, type AskOptions } from "./ask-item.ts";
import { askStart, type AskStartOf } from "./ask-start.ts";
import { askAndWait } from "./ask-answers.ts";
import type { Store } from "../store.ts";
import { askThrough } from "./layered.ts";

type AnyOrchestration = Orchestration<never, unknown> | string;

export interface AskArguments {
  readonly id: string;
  readonly request: AnyRequest | string;
  readonly input: unknown;
  readonly options: AskOptions & { readonly start?: AskStartOf<AnyOrchestration> };
  /** Set for `client.ask`, which may start the instance. */
  readonly target?: AnyOrchestration;
}

/** Asks, through the middleware if there is any. */
export async function askInstance(store: Store, asked: AskArguments): Promise<unknown> {
  check(asked, asked.options);
  const { ask: layers } = store.layers;
  if (layers === null) return sendAsk(store, asked, asked.input, asked.options);
  const { id: instanceId, input, options } = asked;
  const call = { name: requestName(asked.request), input, options, instanceId };
  return askThrough(layers, call, (changed, others) => {
    check(asked, others);
    return sendAsk(store, asked, changed, others);
  });
}

function check({ target }: AskArguments, options: AskArguments["options"]): void {
  if (target === undefined) checkAsk(options, "handle.ask");
  else checkAsk(options, "client.ask", { start: true });
}

async function sendAsk(
  store: Store,
  { id, request, target }: AskArguments,
  input: unknown,
  options: AskArguments["options"],
): Promise<unknown> {
  const reference = parseInstanceReference(id);
  const start =
    target === undefined || options.start === undefined
      ? null
      : await askStart(store, target, reference, options.start);
  const item = await askItem(store, reference, request, input, options, start);
  return askAndWait(store, item, askWait(request, options));
}
