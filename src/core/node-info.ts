// What an activity is told about the flow's node that asked for it.

import type { ActivityInfo } from "./activity-context.ts";
import type { NodeMetadata } from "./history-events.ts";

/** Empty for an activity that no flow asked for. */
export function nodeInfo(
  asked: { readonly node?: string; readonly metadata?: NodeMetadata } | null,
): Pick<ActivityInfo, "flow"> {
  if (asked?.node === undefined) return {};
  const { node, metadata } = asked;
  return { flow: { node, metadata: metadata?.node, flowMetadata: metadata?.flow } };
}
