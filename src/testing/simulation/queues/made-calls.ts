// Made calls: what the clients of a run know: the calls that they made, and the answers that they got.
//   - made-calls.1: A call is noted before it is made. If its process crashes, its answer stays null: the store may or may
//        not have executed it. The next process repeats a call under a rule with another value.

import type { CallRule, JobInput } from "./plan.ts";

/** A call of `client.enqueue`, or one item of `client.enqueueMany`. */
export interface MadeCall {
  readonly queue: string;
  readonly rule: CallRule | null;
  readonly input: JobInput;
  readonly delayMs: number;
  /** Milliseconds since the start of the run. */
  readonly beganAt: number;
  /** Null: not known (made-calls.1). `id` null: the store refused the call. */
  answer: { readonly id: string | null; readonly at: number } | null;
}

export class MadeCalls {
  readonly all: MadeCall[] = [];
  /** The ids of jobs that a client has cancelled, or tried to. */
  readonly cancelled = new Set<string>();

  begin(call: Omit<MadeCall, "answer">): MadeCall {
    const made: MadeCall = { ...call, answer: null };
    this.all.push(made);
    return made;
  }

  /** The value of a further call with this planned value: the value itself, for the first one. */
  valueOf(planned: string): string {
    const earlier = this.all.filter(({ input }) => input.value.split("~")[0] === planned).length;
    return earlier === 0 ? planned : `${planned}~${earlier + 1}`;
  }
}
