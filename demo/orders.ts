// The orders of the demo, and the expected total of each.

export interface Line {
  readonly item: string;
  readonly quantity: number;
  readonly price: number;
}
export interface Order {
  readonly id: string;
  readonly customer: string;
  readonly lines: readonly Line[];
  /** How often the bank declines the card before it accepts it. */
  readonly declines: number;
}

/** An order above this amount needs an approval. */
export const APPROVAL_ABOVE = 300;

const CATALOGUE = [
  { item: "lamp", price: 45 },
  { item: "desk", price: 280 },
  { item: "chair", price: 120 },
  { item: "shelf", price: 90 },
  { item: "rug", price: 150 },
] as const;
const CUSTOMERS = ["Ada", "Barbara", "Edsger", "Grace", "Leslie", "Tony"] as const;

export function makeOrders(count: number): readonly Order[] {
  return Array.from({ length: count }, (_, index) => ({
    id: `order-${String(index + 1).padStart(2, "0")}`,
    customer: CUSTOMERS[index % CUSTOMERS.length] ?? CUSTOMERS[0],
    lines: Array.from({ length: 1 + (index % 3) }, (_line, place) => ({
      ...(CATALOGUE[(index + place * 2) % CATALOGUE.length] ?? CATALOGUE[0]),
      quantity: 1 + ((index + place) % 2),
    })),
    declines: index % 4 === 2 ? 2 : 0,
  }));
}

export function totalOf(order: Order): number {
  return order.lines.reduce((sum, { price, quantity }) => sum + price * quantity, 0);
}

/** Charge, pick every line, print a label, write to the customer. */
export function activitiesOf(order: Order): number {
  return order.lines.length + 3;
}
