// Sweep claim: decides which runtime runs the retention sweep.
//   - The claim is one number: the time until which it is valid. The runtime that wrote the number holds
//       the claim and renews it by naming the number. Any other runtime must wait until that time has
//       passed.
//   - No claim is valid for longer than one lease from now. A larger number was written before the clock
//       was set back, and is taken over.

import type { SweepClaim } from "../../core/provider/admin.ts";
import { integer } from "../columns.ts";
import type { Scope } from "../script/scope.ts";
import { first, type Script } from "../script/script.ts";
import { Statement } from "../script/statement.ts";

const TAKE = new Statement(`
  UPDATE @meta SET value = $1::bigint + $2::bigint WHERE name = 'sweep_until'
    AND (value <= $1::bigint OR value = $3::bigint OR value > $1::bigint + $2::bigint)
  RETURNING value`);

export function* claimSweep(claim: SweepClaim, { now }: Scope): Script<number | null> {
  const row = yield* first(TAKE, now, claim.leaseMs, claim.held ?? -1);
  return row === undefined ? null : integer(row, "value");
}
