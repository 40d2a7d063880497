// Invariant 21: an accepted cancel ends a loop of executions. The turn in flight may still continue as new.
// The next execution receives the cancel first, and its `continueAsNew` is rejected (semantics 4b, 19b).

import type { CommitItem, CommitResult } from "../../../core/provider/commit.ts";
import { replacedInstances, type Carried } from "../calls.ts";
import { refill } from "./refill.ts";

/** The number of executions that may begin after an accepted cancel. */
const CONTINUED_MAX = 1;

export class Cancels {
  /** Per instance: how often it has continued as new since its cancel was accepted. */
  readonly #continued = new Map<string, number>();

  see(call: Carried, idOf: (key: number) => string | undefined): string[] {
    if (call.method !== "commit") return [];
    for (const id of replacedInstances(call)) this.#continued.delete(id);
    return call.args[0].flatMap((item, i) => this.#item(item, call.result[i], idOf));
  }

  checkpoint(): () => void {
    const continued = [...this.#continued];
    return () => refill(this.#continued, continued);
  }

  #item(
    item: CommitItem,
    result: CommitResult | undefined,
    idOf: (key: number) => string | undefined,
  ): string[] {
    if (item.kind === "cancel" && result?.kind === "done") {
      this.#continued.set(item.id, this.#continued.get(item.id) ?? 0);
    } else if (item.kind === "start" && result?.kind === "started") {
      this.#continued.delete(item.id);
    } else if (item.kind === "rewind" && result?.kind === "rewound") {
      for (const { id } of item.targets) this.#continued.delete(id);
    } else if (item.kind === "turn" && result?.kind === "committed") {
      for (const { to, kind } of item.sends) {
        if (kind === "cancel") this.#continued.set(to.id, this.#continued.get(to.id) ?? 0);
      }
      if (item.change.kind === "continued") return this.#continue(idOf(item.key) ?? "");
    }
    return [];
  }

  #continue(id: string): string[] {
    const before = this.#continued.get(id);
    if (before === undefined) return [];
    this.#continued.set(id, before + 1);
    if (before !== CONTINUED_MAX) return []; // reported once
    return [`${id} has continued as new ${before + 1} times since its cancel was accepted`];
  }
}
