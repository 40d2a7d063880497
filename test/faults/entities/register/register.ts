// The register under test: an entity that holds one number, and the model of its calls.
//   - register.1: A call without a known answer may take effect at any later time, or never (checker.3). In the model it
//        fits everywhere.

import { entity } from "../../../../src/entity/index.ts";
import type { Model, Operation } from "../../../stores/linearizability/checker.ts";

export type Call =
  | { readonly kind: "get" }
  | { readonly kind: "set"; readonly value: number }
  | { readonly kind: "add"; readonly value: number }
  | { readonly kind: "cas"; readonly from: number; readonly value: number }
  /** Reads the state of the last commit, without a turn. */
  | { readonly kind: "read" };
export type Reply = number | boolean;
/** Null: the answer is not known. */
export type Made = Operation<Call, Reply | null>;

export const register = entity("register", {
  state: () => ({ value: 0 }),
  handlers: {
    get: (self) => self.state.value,
    set: (self, value: number) => (self.state.value = value),
    add: async (self, value: number) => {
      const before = self.state.value;
      // A handler that waits lets the process die between two turns of one call.
      if (value % 2 === 0) await self.ctx.step("wait", () => null);
      return (self.state.value = before + value);
    },
    cas: (self, { from, value }: { readonly from: number; readonly value: number }) => {
      if (self.state.value !== from) return false;
      self.state.value = value;
      return true;
    },
  },
  reads: { current: (state) => state.value },
});

export const registerModel: Model<number, Call, Reply | null> = {
  initial: 0,
  apply(state, { input, output }) {
    const [next, answer] = effectOf(state, input);
    return output === null || output === answer ? next : null; // register.1
  },
  keyOf: String,
  isRead: ({ input: { kind }, output }) =>
    kind === "get" || kind === "read" || (kind === "cas" && output === false),
  mayNotice({ before, after }, { input, output }) {
    const fromBefore = isReachable(before, seenBy(input, output));
    const fromAfter = isReachable(after, seenBy(input, output));
    if (input.kind !== "cas") return fromAfter;
    return output === null ? fromBefore || fromAfter : output === true ? fromAfter : fromBefore;
  },
};

/** The value that the call found, or compared with. Null: any value. */
function seenBy(input: Call, output: Reply | null): number | null {
  if (input.kind === "cas") return input.from;
  if (input.kind === "set" || typeof output !== "number") return null;
  return input.kind === "add" ? output - input.value : output;
}

/** Whether adds may lead from one value to the other: the values of other calls are new multiples of 1,000. */
function isReachable(from: number, to: number | null): boolean {
  return to !== null && to >= from && Math.floor(to / 1_000) === Math.floor(from / 1_000);
}

export function effectOf(state: number, call: Call): readonly [next: number, answer: Reply] {
  switch (call.kind) {
    case "get":
    case "read":
      return [state, state];
    case "set":
      return [call.value, call.value];
    case "add":
      return [state + call.value, state + call.value];
    case "cas":
      return state === call.from ? [call.value, true] : [state, false];
  }
}

export function formatHistory(history: readonly Made[]): string {
  const began = Math.min(...history.map(({ calledAt }) => calledAt));
  const lines = history
    .toSorted((a, b) => a.calledAt - b.calledAt)
    .map(({ input, output, calledAt, answeredAt }) => {
      const times = [calledAt, answeredAt].map((at) => ((at - began) / 1e6).toFixed(2)).join("–");
      return `${times} ms: ${JSON.stringify(input)} → ${JSON.stringify(output)}`;
    });
  return lines.join("\n");
}
