// The streams of an instance, loaded again while the page is open: their sizes change without a change of the instance.

import { inspect } from "../../api/endpoints.ts";
import type { StreamInfo } from "../../api/types.ts";
import { useLoaded, type Loaded } from "../../api/use-loaded.ts";

const REFRESH_MS = 2_000;
/** How many of the newest entries a page shows first. */
const SHOWN_FIRST = 1_000;

export function useStreams(id: string): Loaded<readonly StreamInfo[]> {
  return useLoaded(`streams ${id}`, (signal) => inspect.streams(id, signal), {
    everyMs: REFRESH_MS,
  });
}

/** The offset at which a page begins to read. */
export function firstShown({ first, next }: StreamInfo): number {
  return Math.max(first, next - SHOWN_FIRST);
}
