/* The lineage as a tree to be drawn: who descends from whom, what is folded, which row and column each kernel has. */
(function (ts) {
  "use strict";
  const MANY = 300; // kernels above which a tree begins folded
  const FEW = 12; // children of one kernel that such a tree shows at first
  const COLUMN = 264;
  const REPAIRS = 170; // a repair has its parent's title, so its column is narrower
  const ROW = 42;
  const MARGIN = 18;

  /* Nodes by id, children with the winning line first, then by the fastest that came of them, failures last. */
  const grow = (kernels, winningLine) => {
    const winning = new Set(winningLine);
    const begin = (kernel) => ({ id: kernel.id, kernel, winning: winning.has(kernel.id), parent: null, children: [] });
    const nodes = new Map(kernels.map((kernel) => [kernel.id, begin(kernel)]));
    const roots = [];
    for (const node of nodes.values()) {
      node.parent = nodes.get(node.kernel.parent) || null;
      (node.parent ? node.parent.children : roots).push(node);
    }
    for (const node of descending(roots).reverse()) tally(node);
    return { nodes, roots: order(roots) };
  };

  /* Every node, parents before their children. */
  const descending = (roots) => {
    const found = [...roots];
    for (let place = 0; place < found.length; place++) found.push(...found[place].children);
    return found;
  };

  const tally = (node) => {
    const own = ts.timed(node.kernel) ? node.kernel.milliseconds : Infinity;
    node.fastest = node.children.reduce((least, child) => Math.min(least, child.fastest), own);
    node.below = node.children.reduce((sum, child) => sum + 1 + child.below, 0);
    order(node.children);
  };

  const order = (nodes) =>
    nodes.sort((one, other) => other.winning - one.winning || compare(one.fastest, other.fastest));
  const compare = (one, other) => (one === other ? 0 : one - other);

  /* How many repairs lead to a node from the kernel that was repaired first. */
  const mends = (node) => {
    let count = 0;
    for (let at = node; at.parent && at.kernel.relation === "repairs"; at = at.parent) count++;
    return count;
  };

  /* Columns from left to right: one for each round, and after it one for each repair of a repair in that round.
     `places` tells the first column of a round. */
  const columnsOf = (nodes) => {
    const deepest = [];
    for (const node of nodes.values()) {
      node.mends = mends(node);
      deepest[node.kernel.round] = Math.max(deepest[node.kernel.round] || 0, node.mends);
    }
    const [columns, places] = [[], []];
    let left = MARGIN;
    for (let round = 0; round < deepest.length; round++) {
      places.push(columns.length);
      for (let mend = 0; mend <= (deepest[round] || 0); mend++) {
        columns.push({ left, round, first: mend === 0 });
        left += mend ? REPAIRS : COLUMN;
      }
    }
    return { columns, places, width: left + MARGIN };
  };

  /* What stands for children that are not shown: their count, and how many of them failed. */
  const rest = (parent, id, hidden) => ({
    id: `more-${id}`,
    of: id,
    parent,
    like: hidden[0],
    below: hidden.length,
    failed: hidden.filter((node) => ts.failed(node.kernel)).length,
    children: [],
  });

  class Lineage {
    constructor(data) {
      this.choices = new Map(); // what the reader has opened and closed
      this.revealed = new Set(); // whose children are all shown
      this.large = data.kernels.length > MANY;
      this.renew(data);
    }

    renew(data) {
      Object.assign(this, grow(data.kernels, data.winning_line));
      Object.assign(this, columnsOf(this.nodes));
      this.arrange();
    }

    opened(node) {
      return this.choices.get(node.id) ?? (!this.large || Boolean(node.winning));
    }

    toggle(node, open = !this.opened(node)) {
      if (node.of !== undefined) this.revealed.add(node.of);
      else this.choices.set(node.id, open);
      this.arrange();
    }

    /* Open every branch, or none but the winning line. */
    all(open) {
      this.revealed = new Set(open ? ["", ...this.nodes.keys()] : []);
      this.choices = new Map([...this.nodes.values()].map(({ id, winning }) => [id, open || winning]));
      this.arrange();
    }

    /* Open whatever hides a node. */
    reveal(node) {
      for (let at = node; at; at = at.parent) {
        if (at.parent) this.choices.set(at.parent.id, true);
        if (!this.shown(at.parent).includes(at)) this.revealed.add(at.parent ? at.parent.id : "");
      }
      this.arrange();
    }

    /* The children of a node that are shown when it is open; of null, the roots. */
    shown(node) {
      const [id, all] = node ? [node.id, node.children] : ["", this.roots];
      if (!this.large || this.revealed.has(id) || all.length <= FEW + 1) return all;
      return [...all.slice(0, FEW), rest(node, id, all.slice(FEW))];
    }

    /* Give every shown node its row. The first child shares its parent's, so that the winning line is straight; what
       has nothing to its right is tucked in below it. `free` is the first row that is free in each column. */
    arrange() {
      this.items = [];
      this.forks = [];
      this.free = this.columns.map(() => 0);
      const roots = this.shown(null);
      const about = (position) => ({ level: 1, position, siblings: roots.length });
      roots.forEach((node, place) => this.settle(node, about(place + 1), 0, 0));
      this.height = Math.max(1, ...this.free) * ROW;
    }

    /* Place a node at `row` or below, keeping the columns from `from` on free for the line that leads to it. */
    settle(node, place, from, row) {
      const kin = node.of === undefined && node.children.length > 0;
      const children = kin && this.opened(node) ? this.shown(node) : [];
      Object.assign(node, place, { open: kin ? children.length > 0 : null, column: this.columnOf(node) });
      const last = Math.max(node.column, this.farthest(children));
      node.row = Math.max(row, ...this.free.slice(from, last + 1));
      node.x = this.columns[node.column].left;
      node.y = node.row * ROW + ROW / 2;
      this.items.push(node);
      this.free.fill(node.row + 1, from, node.column + 1);
      if (!children.length) return;
      const about = (position) => ({ level: place.level + 1, position, siblings: children.length });
      children.forEach((child, at) => this.settle(child, about(at + 1), node.column + 1, node.row));
      const right = Math.min(...children.map(({ x }) => x));
      this.forks.push({ node, children, x: right - 16, bottom: Math.max(...children.map(({ y }) => y)) });
    }

    /* The last column that any of these nodes or what is shown of their descendants lies in. */
    farthest(nodes) {
      return nodes.reduce((most, node) => {
        const open = node.of === undefined && node.children.length && this.opened(node);
        return Math.max(most, this.columnOf(node), open ? this.farthest(this.shown(node)) : 0);
      }, 0);
    }

    columnOf(node) {
      const like = node.of === undefined ? node : node.like;
      return this.places[like.kernel.round] + like.mends;
    }
  }

  ts.Lineage = Lineage;
  ts.ROW = ROW;
  ts.COLUMN = COLUMN;
  ts.REPAIRS = REPAIRS;
})(window.treesearch);
