// Declarations for the blocks of docs/entities.md: an entity, and both sides of its calls.
// The packages are imported whole, because a block may import the same names itself.

import type * as library from "perdure";
import * as entities from "perdure/entity";

const account = entities.entity("account", {
  state: () => ({ cents: 0 }),
  handlers: {
    deposit: (self, cents: number) => (self.state.cents += cents),
    withdraw: (self, cents: number) => (self.state.cents -= cents),
  },
  reads: { balance: (state) => state.cents },
});

declare const client: library.Client;
declare const perdure: library.Perdure;
