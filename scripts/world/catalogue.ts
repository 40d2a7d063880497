// The programmes of `npm run world`, in the order in which they run.

import { backup } from "./backup.ts";
import { crowd } from "./crowd.ts";
import { failover } from "./failover.ts";
import { hiddenProcesses } from "./hidden-processes.ts";
import { payloads } from "./payloads.ts";
import { pooler } from "./pooler.ts";
import type { Programme } from "./programme.ts";
import { rows } from "./rows.ts";
import { slowSync } from "./slow-sync.ts";
import { standby } from "./standby.ts";

export const PROGRAMMES: readonly Programme[] = [
  hiddenProcesses,
  failover,
  slowSync,
  backup,
  standby,
  pooler,
  rows,
  crowd,
  payloads,
];
