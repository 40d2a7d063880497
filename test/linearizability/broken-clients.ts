// Broken clients: stores that would pass if calls never met, or that nobody looked at twice.

import type { Provider } from "../../src/core/provider/index.ts";
import { ignoresTokens, replaceMethods, type Breakage } from "../conformance/broken-provider.ts";

/** Answers what it read the last time, every other time. */
const answersFromStaleCopy: Breakage = (real) => {
  const copies = new Map<string, Awaited<ReturnType<Provider["readInstance"]>>>();
  let asked = 0;
  return {
    async readInstance(id) {
      const copy = copies.get(id);
      if (copy !== undefined && (asked += 1) % 2 === 1) return copy;
      const record = await real.readInstance(id);
      copies.set(id, record);
      return record;
    },
  };
};

/** Looks whether an id is free, and takes it a moment later, whoever took it meanwhile. */
const looksBeforeItStarts: Breakage = (real) => ({
  async commit(items) {
    const [item] = items;
    if (item?.kind !== "start" || item.onConflict !== "fail") return real.commit(items);
    if ((await real.readInstance(item.id)) !== null) return real.commit(items);
    await new Promise((resolve) => setImmediate(resolve));
    return real.commit([{ ...item, onConflict: "terminateExisting" }]);
  },
});

export const BREAKAGES = { answersFromStaleCopy, looksBeforeItStarts, ignoresTokens } as const;
export type BreakageName = keyof typeof BREAKAGES;

export function breaking(provider: Provider, name: BreakageName | undefined): Provider {
  return name === undefined ? provider : replaceMethods(provider, BREAKAGES[name](provider));
}
