// A module without a definition.

export const TAX = 0.2;
export function withTax(cents: number): number {
  return cents * (1 + TAX);
}
