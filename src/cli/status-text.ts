// The status of an instance as a word in a colour; what is blocked says so.

import type { InstanceSummary } from "../client/instance-info.ts";
import type { PublicStatus } from "../client/instance-info.ts";
import { cyan, dim, green, magenta, red, yellow, type Styled } from "./screen.ts";

const COLOURS: Readonly<Record<PublicStatus, (text: string) => Styled>> = {
  pending: dim,
  running: cyan,
  paused: yellow,
  completed: green,
  failed: red,
  cancelled: yellow,
  terminated: red,
};

export function showStatus({
  status,
  blocked,
}: Pick<InstanceSummary, "status" | "blocked">): Styled {
  return blocked === undefined ? COLOURS[status](status) : magenta(`${status}, blocked`);
}
