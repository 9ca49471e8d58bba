// The decoder of LZMA's format (I. Pavlov, "LZMA specification", public domain, in the LZMA SDK), which is a quarter smaller
// than gzip's on a module, and which no browser has.

const STATES = 12; // What came before: the last few of literals, matches, repeated matches.
const FIRST_AFTER_MATCH = 7;
const POSITIONS = 16; // Of a byte in its group, at most.
const PROBABILITY_BITS = 11;
const EVEN = 1 << (PROBABILITY_BITS - 1);
const ADAPTION = 5; // A probability moves by this power of two of what it was off.
const HEADER = 13; // Bytes: parameters, size of the dictionary, size of what is packed.
const SHORTEST = 2; // Bytes of a match.
const LENGTHS = 2 + 2 * POSITIONS * 8 + 256; // Probabilities of one length.

// Where the probabilities of each decision begin.
const IS_MATCH = 0;
const IS_REPEATED = IS_MATCH + STATES * POSITIONS;
const IS_OLDER = IS_REPEATED + STATES;
const IS_OLDER_THAN_SECOND = IS_OLDER + STATES;
const IS_FOURTH = IS_OLDER_THAN_SECOND + STATES;
const IS_LONG = IS_FOURTH + STATES;
const SLOTS = IS_LONG + STATES * POSITIONS;
const MIDDLE_BITS = SLOTS + 4 * 64;
const LOW_BITS = MIDDLE_BITS + 115;
const LENGTH = LOW_BITS + 16;
const REPEATED_LENGTH = LENGTH + LENGTHS;
const LITERALS = REPEATED_LENGTH + LENGTHS;
const PER_LITERAL = 0x300;

/** The `size` bytes that a file of LZMA's (xz --format=lzma) holds. */
export function unpackedLzma(packed, size) {
  const literalBits = packed[0] % 9;
  const literalPositions = (1 << Math.floor(packed[0] / 9) % 5) - 1;
  const positions = (1 << Math.floor(packed[0] / 45)) - 1;
  const odds = new Uint16Array(LITERALS + PER_LITERAL * ((literalPositions + 1) << literalBits)).fill(EVEN);
  const out = new Uint8Array(size);
  const coder = new Uint32Array([0xffffffff, 0]); // Range and code; of 32 bits, so not in plain variables.
  let at = HEADER + 1; // The first byte of the coder is 0.
  for (let i = 0; i < 4; ++i) {
    coder[1] = (coder[1] << 8) | packed[at++];
  }

  const refill = () => {
    if (coder[0] < 0x1000000) {
      coder[0] <<= 8;
      coder[1] = (coder[1] << 8) | packed[at++];
    }
  };
  const bit = (place) => {
    const odd = odds[place];
    const bound = Math.imul(coder[0] >>> PROBABILITY_BITS, odd) >>> 0;
    if (coder[1] < bound) {
      coder[0] = bound;
      odds[place] = odd + (((1 << PROBABILITY_BITS) - odd) >> ADAPTION);
      refill();
      return 0;
    }
    coder[0] -= bound;
    coder[1] -= bound;
    odds[place] = odd - (odd >> ADAPTION);
    refill();
    return 1;
  };
  const number = (place, bits) => {
    let node = 1;
    for (let i = 0; i < bits; ++i) {
      node = (node << 1) | bit(place + node);
    }
    return node - (1 << bits);
  };
  const lowestFirst = (place, bits) => {
    let [node, value] = [1, 0];
    for (let i = 0; i < bits; ++i) {
      const next = bit(place + node);
      node = (node << 1) | next;
      value |= next << i;
    }
    return value;
  };
  const evenBits = (bits) => {
    let value = 0;
    for (let i = 0; i < bits; ++i) {
      coder[0] >>>= 1;
      const next = coder[1] >= coder[0] ? 1 : 0;
      coder[1] -= next * coder[0];
      value = (value << 1) | next;
      refill();
    }
    return value;
  };
  const length = (place, position) => {
    if (bit(place) === 0) {
      return number(place + 2 + (position << 3), 3);
    }
    if (bit(place + 1) === 0) {
      return 8 + number(place + 2 + ((POSITIONS + position) << 3), 3);
    }
    return 16 + number(place + 2 + 2 * (POSITIONS << 3), 8);
  };
  const distance = (lengthState) => {
    const slot = number(SLOTS + (lengthState << 6), 6);
    if (slot < 4) {
      return slot;
    }
    const bits = (slot >> 1) - 1;
    const high = (2 | (slot & 1)) << bits;
    if (slot < 14) {
      return high + lowestFirst(MIDDLE_BITS + high - slot, bits);
    }
    const middle = evenBits(bits - 4) << 4;
    return high + middle + lowestFirst(LOW_BITS, 4);
  };

  let state = 0;
  let [first, second, third, fourth] = [0, 0, 0, 0]; // The last distances, less one.
  for (let done = 0; done < size;) {
    const position = done & positions;
    if (bit(IS_MATCH + (state << 4) + position) === 0) {
      const before = done > 0 ? out[done - 1] : 0;
      const place = LITERALS + PER_LITERAL * (((done & literalPositions) << literalBits) + (before >> (8 - literalBits)));
      let node = 1;
      if (state >= FIRST_AFTER_MATCH) {
        for (let other = out[done - first - 1]; node < 0x100; other <<= 1) {
          const expected = (other >> 7) & 1;
          const next = bit(place + ((1 + expected) << 8) + node);
          node = (node << 1) | next;
          if (next !== expected) {
            break;
          }
        }
      }
      while (node < 0x100) {
        node = (node << 1) | bit(place + node);
      }
      out[done++] = node;
      state = state < 4 ? 0 : state < 10 ? state - 3 : state - 6;
      continue;
    }
    let count;
    if (bit(IS_REPEATED + state) === 0) {
      [second, third, fourth] = [first, second, third];
      count = length(LENGTH, position);
      first = distance(Math.min(count, 3));
      state = state < FIRST_AFTER_MATCH ? 7 : 10;
    } else {
      if (bit(IS_OLDER + state) === 0) {
        if (bit(IS_LONG + (state << 4) + position) === 0) {
          out[done] = out[done - first - 1];
          ++done;
          state = state < FIRST_AFTER_MATCH ? 9 : 11;
          continue;
        }
      } else if (bit(IS_OLDER_THAN_SECOND + state) === 0) {
        [first, second] = [second, first];
      } else if (bit(IS_FOURTH + state) === 0) {
        [first, second, third] = [third, first, second];
      } else {
        [first, second, third, fourth] = [fourth, first, second, third];
      }
      count = length(REPEATED_LENGTH, position);
      state = state < FIRST_AFTER_MATCH ? 8 : 11;
    }
    for (let i = count + SHORTEST; i > 0; --i) {
      out[done] = out[done - first - 1];
      ++done;
    }
  }
  return out;
}
