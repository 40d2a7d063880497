// A bank: accounts are entities, transfers are orchestrations that call two of them.

import { orchestration } from "../../src/index.ts";
import { entity } from "../../src/entity/index.ts";

export interface Transfer {
  readonly from: string;
  readonly to: string;
  readonly cents: number;
}

interface State {
  cents: number;
  isFrozen: boolean;
  /** The newest bookings, oldest first. */
  bookings: { readonly cents: number; readonly text: string }[];
}
const BOOKINGS_KEPT = 20;

export const account = entity("account", {
  state: (): State => ({ cents: 0, isFrozen: false, bookings: [] }),
  handlers: {
    deposit: (self, { cents, text }: { cents: number; text: string }) => {
      if (self.state.isFrozen) throw new Error(`the account of ${self.key} is frozen`);
      book(self.state, cents, text);
      return self.state.cents;
    },
    withdraw: (self, { cents, text }: { cents: number; text: string }) => {
      book(self.state, -cents, text);
      // A handler that throws leaves the state as it was before the call.
      if (self.state.cents < 0) throw new RangeError(`${self.key} has too little money`);
      return self.state.cents;
    },
    /** Puts money back, also into a frozen account. */
    giveBack: (self, { cents, text }: { cents: number; text: string }) => {
      book(self.state, cents, text);
    },
    freeze: (self) => {
      self.state.isFrozen = true;
    },
  },
  reads: {
    balance: (state) => state.cents,
    bookings: (state) => state.bookings.map(({ cents, text }) => `${cents} ${text}`),
  },
});

function book(state: State, cents: number, text: string): void {
  state.cents += cents;
  state.bookings = [...state.bookings, { cents, text }].slice(-BOOKINGS_KEPT);
}

/**
 * Two entities never change in one transaction: if the deposit is refused, the withdrawal is undone. The shield makes a
 * cancel wait: a call that was sent may have its effect, so a transfer must not stop halfway.
 */
export const transfer = orchestration("transfer", (ctx, { from, to, cents }: Transfer) =>
  ctx.shield(async () => {
    const payer = ctx.entity(account, from);
    await payer.withdraw({ cents, text: `to ${to}` });
    try {
      await ctx.entity(account, to).deposit({ cents, text: `from ${from}` });
    } catch (error) {
      await payer.giveBack({ cents, text: `back from ${to}` });
      throw error;
    }
    return `${from} pays ${to} ${cents} cents`;
  }),
);
