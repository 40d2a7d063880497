// How `client.ask` starts an instance that does not exist.

import { checkChoice, checkMembers, type Members } from "../../core/checks.ts";
import type { OrchestrationInput } from "../../core/context/types.ts";
import type { Orchestration } from "../../core/define/definitions.ts";
import type { AskStart } from "../../core/provider/commit.ts";
import type { AskOptions } from "./ask-item.ts";
import { startItem, type StartOptions } from "../start-item.ts";
import type { Store } from "../store.ts";

/** How `client.ask` starts an instance that does not exist. */
export interface AskStartOf<C extends Orchestration<never, unknown> | string> extends Pick<
  StartOptions,
  "version" | "priority" | "attributes" | "context"
> {
  readonly input?: OrchestrationInput<C>;
  /** What happens if the instance has ended. Default "fail". */
  readonly ifEnded?: "fail" | "restart";
}
/** Options of `client.ask`. */
export interface ClientAskOptions<
  C extends Orchestration<never, unknown> | string = string,
> extends AskOptions {
  readonly start?: AskStartOf<C>;
}
const ASK_START: Members<AskStartOf<string>> = {
  version: true,
  priority: true,
  attributes: true,
  context: true,
  input: true,
  ifEnded: true,
};

export async function askStart(
  store: Store,
  target: Orchestration<never, unknown> | string,
  id: string,
  start: AskStartOf<Orchestration<never, unknown> | string>,
): Promise<AskStart> {
  checkMembers(start, ASK_START, "start of client.ask");
  checkChoice(start.ifEnded, ["fail", "restart"], "ifEnded");
  const { input, ifEnded = "fail", ...options } = start;
  const item = await startItem(store, target, input, { ...options, id });
  const onConflict = ifEnded === "restart" ? "restart" : "useExisting";
  return { ...item, onConflict, requestId: null, lease: null };
}
