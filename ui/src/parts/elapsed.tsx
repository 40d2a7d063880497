// Shows a duration that may still be growing.

import type { ReactElement } from "react";
import { formatDuration } from "./format.ts";
import { useNow } from "./use-now.ts";

export function Elapsed({
  from,
  to,
}: {
  readonly from: string;
  readonly to?: string | undefined;
}): ReactElement {
  return to === undefined ? <Running from={from} /> : <>{formatDuration(between(from, to))}</>;
}

function Running({ from }: { readonly from: string }): ReactElement {
  const ms = Math.max(0, useNow() - Date.parse(from));
  return <>{formatDuration(Math.floor(ms / 1_000) * 1_000)}</>;
}

function between(from: string, to: string): number {
  return Math.max(0, Date.parse(to) - Date.parse(from));
}
