// Entity: stock per article, without overselling. docs/cookbook/entity.md shows this file.

import { entity } from "../../src/entity/index.ts";

export const stock = entity("stock", {
  state: () => ({ free: 0, reserved: {} as Record<string, number> }),
  handlers: {
    receive: (self, pieces: number) => (self.state.free += pieces),
    reserve: (self, { order, pieces }: { order: string; pieces: number }) => {
      if (self.state.reserved[order] !== undefined) return; // repeated
      if (self.state.free < pieces) throw new RangeError(`${self.key}: ${self.state.free} left`);
      self.state.free -= pieces;
      self.state.reserved[order] = pieces;
    },
    release: (self, order: string) => {
      self.state.free += self.state.reserved[order] ?? 0;
      delete self.state.reserved[order];
    },
  },
  reads: {
    free: (state) => state.free,
  },
});
