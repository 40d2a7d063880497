// Tally: counts how often each kind of call succeeded and was refused, to detect runs that test too little.

import type { Call } from "./calls.ts";
import { KINDS } from "./commands.ts";

/** Starts that bring their first turn: written with it, or without. */
const FIRST_TURN = "first turn";
/** Turns without a lease. */
const UNLEASED = "turn without a lease";
/** These calls are never refused. */
const NEVER_REFUSED: readonly string[] = [
  "advance",
  "registerRuntime",
  "removeRuntime",
  "reopen",
  "withdraw",
];

interface Result {
  readonly kind: string;
  readonly code?: string;
  readonly due?: readonly unknown[];
}

export class Tally {
  readonly #counts = new Map<string, number>();
  steps = 0;

  add(call: Call, answer: unknown): void {
    this.steps += 1;
    if (call.method !== "commit") {
      this.#count(call.method, isGood(call, answer));
      return;
    }
    const results = answer as readonly Result[];
    for (const [index, { kind, code, due }] of results.entries()) {
      const given = call.items[index];
      const item = given?.kind ?? "";
      this.#count(item, kind !== "refused");
      if (given?.kind === "start" && given.firstTurn !== undefined)
        this.#count(FIRST_TURN, due !== undefined);
      if (given?.kind === "turn" && given.isUnleased === true) {
        this.#count(UNLEASED, kind !== "refused");
      }
      if (code !== undefined) this.#add(`${item} ${code}`);
    }
  }

  /** The kinds that succeeded or were refused fewer than `least` times. */
  rare(
    least: number,
    kinds: readonly string[] = [...KINDS, FIRST_TURN, UNLEASED],
  ): readonly string[] {
    const wanted = kinds.flatMap((kind) =>
      NEVER_REFUSED.includes(kind) ? [`${kind} +`] : [`${kind} +`, `${kind} -`],
    );
    return wanted.filter((name) => this.of(name) < least).map((name) => `${name}${this.of(name)}`);
  }

  of(name: string): number {
    return this.#counts.get(name) ?? 0;
  }

  toString(): string {
    return [...this.#counts].map(([name, count]) => `${name}${count}`).join(", ");
  }

  #count(kind: string, isGood: boolean): void {
    this.#add(isGood ? `${kind} +` : `${kind} -`);
  }

  #add(name: string): void {
    this.#counts.set(name, this.of(name) + 1);
  }
}

function isGood(call: Call, answer: unknown): boolean {
  switch (call.method) {
    case "renewInstances":
    case "renewTasks":
    case "heartbeatTasks":
    case "lostTasks":
      return Array.isArray(answer) && answer.length === 0; // nothing is lost
    case "takeMessages":
    case "listInstances":
    case "readHistory":
      return Array.isArray(answer) && answer.length > 0;
    case "leaseInstances":
    case "leaseTasks": {
      const { instances, tasks } = answer as { instances?: unknown[]; tasks?: unknown[] };
      return (instances ?? tasks ?? []).length > 0;
    }
    case "beat":
      return answer === true;
    case "expireRuntime":
      return (answer as { expired: boolean }).expired;
    case "deleteInstance":
      return (answer as { kind: string }).kind === "deleted";
    case "settle":
    case "readInstance":
    case "pruneExecutions":
      return answer !== null;
    default:
      return true;
  }
}
