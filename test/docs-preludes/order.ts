// What the order example in README.md needs and does not show.

interface Line {
  readonly sku: string;
  readonly quantity: number;
}
interface Order {
  readonly id: string;
  readonly lines: readonly Line[];
}
interface Receipt {
  readonly chargeId: string;
}
interface Approval {
  readonly by: string;
}

declare const order: Order;
declare const stripe: {
  charge(order: Order, options: { signal: AbortSignal; idempotencyKey: string }): Promise<Receipt>;
  refund(receipt: Receipt): Promise<void>;
};
declare const warehouse: { ship(line: Line): Promise<void> };
