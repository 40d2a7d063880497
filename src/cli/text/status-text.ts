// Formats the status of an instance as a coloured word, with ", blocked" for a blocked instance.

import type { InstanceSummary } from "../../client/inspect/instance-info.ts";
import type { PublicStatus } from "../../client/inspect/instance-info.ts";
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
