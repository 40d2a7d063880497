// Caller script: a client that makes its calls from outside, one after another. After a crash the next process repeats
// the call whose answer is not known, and continues.

import { isTerminalStatus } from "../../../../core/provider/instances.ts";
import { isPerdureError } from "../../../../core/errors/errors.ts";
import type { Hand } from "../../world/workload.ts";
import type { Caller, OutsideCall } from "../jobs.ts";
import type { Given, Outside } from "./outside.ts";

export class CallerScript {
  readonly #instance: string;
  readonly #caller: Caller;
  readonly #outside: Outside;
  /** The number of answered calls. */
  #done = 0;

  constructor(instance: string, caller: Caller, outside: Outside) {
    this.#instance = instance;
    this.#caller = caller;
    this.#outside = outside;
  }

  async run(hand: Hand): Promise<void> {
    const { key, calls } = this.#caller;
    if (!(await this.#waitForToken(hand))) return;
    for (const call of calls.slice(this.#done)) {
      await hand.process.sleep(call.afterMs);
      const given = this.#outside.given(key).at(call.token === "first" ? 0 : -1);
      if (given !== undefined) await this.#call(hand, call, given);
      this.#done++;
    }
  }

  /** False: the instance has ended, and no token was handed out. */
  async #waitForToken({ client, process }: Hand): Promise<boolean> {
    for (;;) {
      const isOver = await client
        .get(this.#instance)
        .describe()
        .then(
          ({ status }) => status !== "paused" && isTerminalStatus(status),
          (error: unknown) => {
            if (isPerdureError(error, "INSTANCE_NOT_FOUND")) return false; // it starts later
            throw error;
          },
        );
      if (this.#outside.given(this.#caller.key).length > 0) return true;
      if (isOver) return false;
      await process.sleep(2 * process.unitMs);
    }
  }

  async #call(hand: Hand, { kind, value }: OutsideCall, given: Given): Promise<void> {
    const { client, elapsedMs } = hand;
    const { key, target, token } = given;
    const made = this.#outside.begin({ kind, value, key, target, beganAt: elapsedMs() });
    try {
      if (kind === "complete") await client.complete(token, value);
      else if (kind === "fail") await client.fail(token, new Error(value));
      else await client.heartbeat(token);
      made.answer = { kind: "done", at: elapsedMs() };
    } catch (error) {
      if (!isPerdureError(error, "CALLBACK_CLOSED")) throw error;
      made.answer = { kind: "closed", at: elapsedMs() };
    }
  }
}
