"use strict";
/* The arm of a run in three dimensions, with plots that share its time. Data: see pliant/viewer/page.py. */
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const $ = (id) => document.getElementById(id);

  // ------------------------------------------------------------------------------------------ numbers of the run

  const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer;
  const floats = (text) => new Float32Array(bytes(text));
  const scaled = ({ scale, data }) => Float32Array.from(new Int16Array(bytes(data)), (v) => v * scale);

  const t = floats(data.t);
  const frames = t.length;
  const links = data.links.map((link) => ({
    ...link,
    joint: floats(link.joint), motor: floats(link.motor),
    straight: scaled(link.straight), shift: scaled(link.shift), turn: scaled(link.turn), strain: scaled(link.strain),
    places: link.places.map((place) => ({ ...place, straight: scaled(place.straight), shift: scaled(place.shift), turn: scaled(place.turn) })),
  }));

  // ------------------------------------------------------------------------------- 3 x 3 matrices, rows first

  const product = (A, B) => {
    const C = new Array(9);
    for (let i = 0; i < 3; i++) for (let j = 0; j < 3; j++)
      C[3 * i + j] = A[3 * i] * B[j] + A[3 * i + 1] * B[3 + j] + A[3 * i + 2] * B[6 + j];
    return C;
  };
  const apply = (A, x) => [
    A[0] * x[0] + A[1] * x[1] + A[2] * x[2], A[3] * x[0] + A[4] * x[1] + A[5] * x[2], A[6] * x[0] + A[7] * x[1] + A[8] * x[2],
  ];
  const add = (a, b) => [a[0] + b[0], a[1] + b[1], a[2] + b[2]];
  const minus = (a, b) => [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
  const times = (s, a) => [s * a[0], s * a[1], s * a[2]];
  const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
  const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
  const unit = (a) => times(1 / (Math.hypot(...a) || 1), a);
  const exponential = ([x, y, z]) => { // Rodrigues
    const s = Math.hypot(x, y, z);
    const a = s > 1e-8 ? Math.sin(s) / s : 1, b = s > 1e-8 ? (1 - Math.cos(s)) / (s * s) : 0.5;
    return [
      1 - b * (y * y + z * z), b * x * y - a * z, b * x * z + a * y,
      b * x * y + a * z, 1 - b * (x * x + z * z), b * y * z - a * x,
      b * x * z - a * y, b * y * z + a * x, 1 - b * (x * x + y * y),
    ];
  };

  // --------------------------------------------------------------------------------------------- where the arm is

  const mixed = (values, size, frame, f, k) => { // one entry of an (F, size) array at a time between two frames
    if (values.length === size) return values[k];
    const next = Math.min(frame + 1, frames - 1);
    return values[frame * size + k] * (1 - f) + values[next * size + k] * f;
  };

  /** Rotation of the quaternion at the end of each row of an (F, size) array, turning evenly between two frames. */
  function turned(values, size, frame, f) {
    const next = Math.min(frame + 1, frames - 1);
    const at = (row) => Array.from(values.slice(row * size + size - 4, (row + 1) * size));
    const a = at(frame);
    let b = at(next), c = a.reduce((sum, v, k) => sum + v * b[k], 0);
    if (c < 0) { b = b.map((v) => -v); c = -c; } // the short way
    const angle = Math.acos(Math.min(c, 1));
    const [u, v] = angle > 1e-4 ? [Math.sin((1 - f) * angle), Math.sin(f * angle)] : [1 - f, f];
    const mix = a.map((x, k) => u * x + v * b[k]), length = Math.hypot(...mix);
    const [w, x, y, z] = mix.map((s) => s / length);
    return [
      1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y),
      2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
      2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y),
    ];
  }

  /** A box as a straight link: the middles of two of its faces, and its axes there. */
  function boxed(link, { R, p }) {
    const { center, axes, edges } = link.box, [along] = edges;
    const end = (s) => add(p, apply(R, add(center, times(s * along / 2, axes.map((row) => row[0])))));
    const S = product(R, axes.flat());
    return { points: [end(-1), end(1)], sections: [S, S], half: [edges[1] / 2, edges[2] / 2, edges[1] / 2, edges[2] / 2] };
  }

  /** Links at a time between frames: points, section matrices, strain, joint frame; deformation times `magnification`. */
  function pose(place, magnification) {
    const frame = Math.min(Math.floor(place), frames - 1), f = place - frame;
    const base = { R: [1, 0, 0, 0, 1, 0, 0, 0, 1], p: [0, 0, 0] }, ports = []; // of every link: its tip, and its other places
    return links.map((link) => {
      let { R, p } = link.parent < 0 ? base : ports[link.parent][link.port];
      p = add(p, apply(R, link.origin));
      R = product(R, link.rotation);
      if (link.kind === "spherical" || link.kind === "free") {
        const size = link.kind === "free" ? 7 : 4;
        if (size === 7) p = add(p, apply(R, [0, 1, 2].map((d) => mixed(link.joint, size, frame, f, d))));
        R = product(R, turned(link.joint, size, frame, f));
      }
      link.axes.forEach((axis, k) => {
        const motor = mixed(link.motor, link.axes.length, frame, f, k);
        const q = motor + magnification * (mixed(link.joint, link.axes.length, frame, f, k) - motor);
        if (k < link.sliding) p = add(p, apply(R, times(q, axis)));
        else R = product(R, exponential(times(q, axis)));
      });
      const root = { R, p }, points = [], sections = [], strain = [], n = link.stations;
      const entry = (values, s, d) => mixed(values, 3 * n, frame, f, 3 * s + d);
      for (let s = 0; s < n; s++) {
        const at = [0, 1, 2].map((d) => entry(link.straight, s, d) + magnification * entry(link.shift, s, d));
        const theta = [0, 1, 2].map((d) => magnification * entry(link.turn, s, d));
        points.push(add(p, apply(R, at)));
        sections.push(product(R, exponential(theta)));
        strain.push(mixed(link.strain, n, frame, f, s));
      }
      const tip = { R: product(sections[n - 1], link.end), p: points[n - 1] };
      const own = [tip, ...link.places.map((place) => {
        const part = (values, d) => mixed(values, 3, frame, f, d);
        const at = [0, 1, 2].map((d) => part(place.straight, d) + magnification * part(place.shift, d));
        const theta = [0, 1, 2].map((d) => magnification * part(place.turn, d));
        return { R: product(product(R, exponential(theta)), place.end), p: add(p, apply(R, at)) };
      })];
      ports.push(own);
      return { link, root, points, sections, strain, tip, ports: own, frame, f, magnification };
    });
  }

  // ------------------------------------------------------------------------------------------------------- colors

  const STOPS = data.colors.strain;
  function shade(part) {
    const x = Math.min(Math.max(part, 0), 1) * (STOPS.length - 1), k = Math.min(Math.floor(x), STOPS.length - 2);
    return STOPS[k].map((v, i) => v + (STOPS[k + 1][i] - v) * (x - k));
  }
  const css = (c) => `rgb(${c.map((v) => Math.round(255 * v)).join(",")})`;
  $("bar").style.background = `linear-gradient(90deg, ${STOPS.map(css).join(",")})`;
  $("barmax").textContent = data.strain_text;
  $("barname").textContent = data.strain_name;
  $("legend").hidden = !(data.strain > 0 || data.stress > 0);

  // --------------------------------------------------------------------------------------------------------- tubes

  const RING = 20;
  /** Points of a section and their normals, in units of its half sizes; flat faces have their corners twice. */
  function outline(round) {
    if (round) return Array.from({ length: RING }, (_, k) => {
      const a = 2 * Math.PI * k / RING;
      return { y: Math.cos(a), z: Math.sin(a), ny: Math.cos(a), nz: Math.sin(a) };
    });
    const corners = [[1, -1], [1, 1], [-1, 1], [-1, -1]], normals = [[1, 0], [0, 1], [-1, 0], [0, -1]];
    return normals.flatMap(([ny, nz], k) => [corners[k], corners[(k + 1) % 4]].map(([y, z]) => ({ y, z, ny, nz })));
  }

  class Tube {
    constructor(link, material) {
      this.link = link;
      this.ring = outline(link.round && !link.box);
      const n = link.stations, m = this.ring.length;
      this.count = n * m + 2 * m;
      const geometry = this.geometry = new VENDOR.BufferGeometry();
      for (const name of ["position", "normal", "color"])
        geometry.setAttribute(name, new VENDOR.BufferAttribute(new Float32Array(3 * this.count), 3));
      const index = [];
      for (let s = 0; s < n - 1; s++) for (let k = 0; k < m; k += link.round && !link.box ? 1 : 2) {
        const j = (k + 1) % m, a = s * m + k, b = s * m + j, c = a + m, d = b + m;
        index.push(a, b, c, b, d, c);
      }
      for (const [start, flip] of [[n * m, true], [n * m + m, false]]) for (let k = 1; k < m - 1; k++)
        index.push(start, start + (flip ? k + 1 : k), start + (flip ? k : k + 1));
      geometry.setIndex(index);
      this.mesh = new VENDOR.Mesh(geometry, material);
      this.mesh.frustumCulled = false;
    }

    update({ root, strain, ...bent }) {
      const { points, sections, half } = this.link.box ? boxed(this.link, root) : { ...bent, half: this.link.half };
      const { position, normal, color } = this.geometry.attributes, m = this.ring.length, n = points.length;
      const put = (v, at, n3, c) => { position.setXYZ(v, ...at); normal.setXYZ(v, ...n3); color.setXYZ(v, ...c); };
      for (let s = 0; s < n; s++) {
        const x = unit(minus(points[Math.min(s + 1, n - 1)], points[Math.max(s - 1, 0)]));
        const R = sections[s];
        let y = [R[1], R[4], R[7]];
        if (Math.abs(dot(y, x)) > 0.9) y = [R[2], R[5], R[8]];
        y = unit(minus(y, times(dot(x, y), x)));
        const z = cross(x, y), [hy, hz] = [half[2 * s], half[2 * s + 1]];
        const shown = data.strain > 0 && this.link.bends ? shade(strain[s] / data.strain) : data.colors.rigid;
        const c = shown.map((v) => v ** 2.2); // the renderer wants linear light
        this.ring.forEach(({ y: a, z: b, ny, nz }, k) => {
          const at = add(points[s], add(times(a * hy, y), times(b * hz, z)));
          put(s * m + k, at, add(times(ny, y), times(nz, z)), c);
          if (s === 0) put(n * m + k, at, times(-1, x), c);
          if (s === n - 1) put(n * m + m + k, at, x, c);
        });
      }
      for (const a of [position, normal, color]) a.needsUpdate = true;
    }
  }

  // --------------------------------------------------------------------------------------------------------- skins

  /** A visual: points that ride on sections of its links, or stand with the base. */
  class Skin {
    constructor(skin, material) {
      this.bends = skin.bends && data.strain > 0;
      this.links = skin.links;
      this.link = floats(skin.link);
      this.station = floats(skin.station);
      this.offset = floats(skin.offset);
      const geometry = this.geometry = new VENDOR.BufferGeometry(), own = skin.color.map((v) => v ** 2.2);
      const colors = Float32Array.from(this.offset, (_, k) => own[k % 3]);
      geometry.setAttribute("position", new VENDOR.BufferAttribute(Float32Array.from(this.offset), 3));
      geometry.setAttribute("color", new VENDOR.BufferAttribute(colors, 3));
      geometry.setIndex(new VENDOR.BufferAttribute(new Uint32Array(bytes(skin.faces)), 1));
      this.mesh = new VENDOR.Mesh(geometry, material);
      this.mesh.frustumCulled = false;
    }

    update(placed) {
      if (!this.links.length) return;
      const { position, color } = this.geometry.attributes, x = this.offset;
      for (let k = 0; k < this.station.length; k++) {
        const { points, sections, strain } = placed[this.links[this.link[k]]];
        const s = Math.min(Math.floor(this.station[k]), points.length - 2), f = this.station[k] - s;
        const [a, b, A, B] = [points[s], points[s + 1], sections[s], sections[s + 1]], at = [0, 0, 0];
        for (let i = 0; i < 3; i++) {
          at[i] = a[i] + f * (b[i] - a[i]);
          for (let j = 0; j < 3; j++) at[i] += (A[3 * i + j] + f * (B[3 * i + j] - A[3 * i + j])) * x[3 * k + j];
        }
        position.setXYZ(k, ...at);
        if (this.bends) color.setXYZ(k, ...shade((strain[s] + f * (strain[s + 1] - strain[s])) / data.strain).map((v) => v ** 2.2));
      }
      position.needsUpdate = true;
      color.needsUpdate = this.bends;
    }
  }

  /** The surface of a body from a file: points that its shapes move, colored by their stress. */
  class BodySkin extends Skin {
    constructor(skin, material) {
      super({ ...skin, link: "", station: "" }, material);
      this.bends = skin.bends && data.stress > 0;
      this.c = floats(skin.body.c);
      this.moves = scaled(skin.body.moves);
      this.stress = scaled(skin.body.stress);
      this.size = this.c.length / frames;
    }

    update(placed) {
      const { position, color } = this.geometry.attributes, x = this.offset, n = this.size;
      const { root: { R, p }, frame, f, magnification } = placed[this.links[0]], c = [];
      for (let j = 0; j < n; j++) c.push(mixed(this.c, n, frame, f, j));
      const sum = (values, row) => { // of one number per coordinate
        let total = 0;
        for (let j = 0; j < n; j++) total += values[row * n + j] * c[j];
        return total;
      };
      for (let k = 0; k < x.length / 3; k++) {
        const at = [0, 1, 2].map((d) => x[3 * k + d] + magnification * sum(this.moves, 3 * k + d));
        position.setXYZ(k, ...add(p, apply(R, at)));
        if (this.bends) {
          const [a, b, d, yz, xz, xy] = [0, 1, 2, 3, 4, 5].map((i) => sum(this.stress, 6 * k + i));
          const square = ((a - b) ** 2 + (b - d) ** 2 + (d - a) ** 2) / 2 + 3 * (yz * yz + xz * xz + xy * xy);
          color.setXYZ(k, ...shade(Math.sqrt(square) / data.stress).map((v) => v ** 2.2));
        }
      }
      position.needsUpdate = true;
      color.needsUpdate = this.bends;
    }
  }

  // ------------------------------------------------------------------------------------------------------ fittings

  const fittings = data.fittings.map(({ place, ...fitting }) => ({
    ...fitting,
    place: place.kind === "pushed" ? { ...place, normal: scaled(place.normal), force: scaled(place.force) } : place,
  }));
  const where = ({ link, port, R, p }, placed) => {
    if (link < 0) return { R, p };
    const on = placed[link].ports[port];
    return { R: product(on.R, R), p: add(on.p, apply(on.R, p)) };
  };
  /** Columns that map x to a vector, y and z to vectors across it, of length `size`. */
  function along(x, size) {
    const u = unit(x), least = u.map(Math.abs).indexOf(Math.min(...u.map(Math.abs)));
    const y = unit(cross(u, [0, 1, 2].map((k) => +(k === least))));
    return [x, times(size, y), times(size, cross(u, y))];
  }

  /** How the points of each fitting are mapped into the base: three columns and an origin; see scene_fittings.py. */
  function fitted(at, placed) {
    const frame = Math.min(Math.floor(at), frames - 1), f = at - frame;
    return fittings.map(({ place }) => {
      const ends = place.frames.map((one) => where(one, placed));
      if (place.kind === "held") {
        const [{ R, p }] = ends;
        return { columns: [0, 1, 2].map((k) => [R[k], R[3 + k], R[6 + k]]), origin: p };
      }
      if (place.kind === "spanned") {
        const whole = minus(ends[1].p, ends[0].p), u = unit(whole);
        const [first, last] = [place.begin, place.end].map(([part, metres]) => add(times(part, whole), times(metres, u)));
        return { columns: along(minus(last, first), 1), origin: add(ends[0].p, first) };
      }
      const [normal, force] = [place.normal, place.force].map((values) => [0, 1, 2].map((d) => mixed(values, 3, frame, f, d)));
      const arrow = times(place.scale, force);
      return { columns: along(arrow, Math.hypot(...arrow)), origin: minus(ends[0].p, times(place.radius, normal)) };
    });
  }

  function fittingMesh({ name, points, faces, color: [r, g, b, opacity] }) {
    const geometry = new VENDOR.BufferGeometry();
    geometry.setAttribute("position", new VENDOR.BufferAttribute(floats(points), 3));
    geometry.setIndex(new VENDOR.BufferAttribute(new Uint32Array(bytes(faces)), 1));
    const mesh = new VENDOR.Mesh(geometry, new VENDOR.MeshStandardMaterial({
      color: new VENDOR.Color(...[r, g, b].map((v) => v ** 2.2)), roughness: 0.5, metalness: 0.1, flatShading: true,
      side: VENDOR.DoubleSide, transparent: opacity < 1, opacity, depthWrite: opacity === 1,
    }));
    Object.assign(mesh, { name, matrixAutoUpdate: false, frustumCulled: false });
    return mesh;
  }

  // --------------------------------------------------------------------------------------------------------- stage

  const state = { place: 0, playing: false, magnification: 1, speed: 1, follow: data.follow !== null };
  let stage = null;

  function makeStage() {
    const { Scene, PerspectiveCamera, WebGLRenderer, OrbitControls, Mesh, MeshStandardMaterial, Vector3 } = VENDOR;
    const canvas = $("view");
    const renderer = new WebGLRenderer({ canvas, antialias: true, alpha: true });
    renderer.setPixelRatio(Math.min(devicePixelRatio, 2));
    const scene = new Scene(), camera = new PerspectiveCamera(35, 1, data.reach / 200, data.reach * 60);
    camera.up.set(...data.up);
    const controls = new OrbitControls(camera, canvas);
    controls.addEventListener("change", draw);
    const sun = new VENDOR.DirectionalLight(0xffffff, 2.2), fill = new VENDOR.DirectionalLight(0xffffff, 0.9);
    const [a, b] = data.camera.level;
    sun.position.set(...add(times(2.2, data.up), add(times(1.2, a), times(-1, b))));
    fill.position.set(...add(times(0.4, data.up), add(times(-1.5, a), times(1, b))));
    scene.add(new VENDOR.HemisphereLight(0xffffff, 0xc8d2dc, 2.3), sun, fill);

    const solid = new MeshStandardMaterial({ vertexColors: true, roughness: 0.45, metalness: 0.05 });
    const ghostly = new MeshStandardMaterial({ color: data.colors.ghost, transparent: true, opacity: 0.28, depthWrite: false, polygonOffset: true, polygonOffsetFactor: 1, polygonOffsetUnits: 1 });
    const steel = new MeshStandardMaterial({ color: data.colors.steel, roughness: 0.5, metalness: 0.3 });
    const orange = new MeshStandardMaterial({ color: data.colors.orange, roughness: 0.5 });
    const tubes = links.map((link) => new Tube(link, solid)), ghosts = links.map((link) => new Tube(link, ghostly));
    const ghost = new VENDOR.Group(), world = new VENDOR.Group(); // a camera that follows stands still; the world moves
    scene.add(world);
    const shown = (tube, group) => { tube.mesh.visible = !tube.link.covered; group.add(tube.mesh); };
    tubes.forEach((tube) => shown(tube, world));
    ghosts.forEach((tube) => shown(tube, ghost));
    const faceted = solid.clone(), pale = ghostly.clone();
    faceted.flatShading = pale.flatShading = true;
    faceted.side = VENDOR.DoubleSide;
    const dressed = (material, group) => data.skins.map((skin) => {
      const made = skin.body ? new BodySkin(skin, material) : new Skin(skin, material);
      group.add(made.mesh);
      return made;
    });
    const skins = dressed(faceted, world), ghostSkins = dressed(pale, ghost);
    const fitted = fittings.map(fittingMesh);
    if (fitted.length) world.add(...fitted);
    world.add(ghost);
    const size = (k) => Math.max(links[k].joint_size, data.reach * 0.011);
    const joints = links.map((link, k) => {
      const r = size(k), box = link.sliding > 0 || !link.axes.length;
      const mesh = new Mesh(link.kind === "spherical" ? new VENDOR.SphereGeometry(1.3 * r, 28, 18)
        : box ? new VENDOR.BoxGeometry(2 * r, 2 * r, 2 * r) : new VENDOR.CylinderGeometry(r, r, 2.5 * r, 28), steel);
      mesh.visible = link.marked;
      world.add(mesh);
      return mesh;
    });
    const loads = links.map((link) => {
      const mesh = new Mesh(new VENDOR.SphereGeometry(data.reach * 0.022, 28, 18), orange);
      mesh.visible = link.loaded;
      world.add(mesh);
      return mesh;
    });
    const plate = data.reach * 0.0125 + size(0) * 0.9; // of the foot, below the base, or above it where the arm hangs
    const foot = new Mesh(new VENDOR.CylinderGeometry(data.reach * 0.03, data.reach * 0.045, data.reach * 0.025, 36), steel);
    const upright = new VENDOR.Quaternion().setFromUnitVectors(new Vector3(0, 1, 0), new Vector3(...data.up));
    foot.visible = !data.follow && !data.skins.some((skin) => !skin.links.length);
    world.add(foot);
    const path = new VENDOR.Line(new VENDOR.BufferGeometry(), new VENDOR.LineBasicMaterial({ color: data.colors.path }));
    path.frustumCulled = false;
    world.add(path);
    const triad = new VENDOR.AxesHelper(data.reach * 0.18);
    triad.visible = false;
    triad.material.depthTest = false;
    triad.renderOrder = 2;
    world.add(triad);

    const { hangs } = data.camera;
    foot.quaternion.copy(upright);
    if (hangs) foot.rotateX(Math.PI);
    foot.position.set(...times(hangs ? plate : -plate, data.up));
    const floor = new VENDOR.GridHelper(4 * data.reach, 40, ...data.colors.grid);
    floor.material.transparent = true;
    floor.material.opacity = 0.55;
    floor.quaternion.copy(upright);
    floor.position.set(...times(data.camera.floor, data.up));
    floor.visible = data.standing;
    world.add(floor);
    return { renderer, scene, camera, controls, world, tubes, ghosts, skins, ghostSkins, fitted, ghost, joints, loads, path, triad, floor };
  }

  const seen = () => (state.follow ? data.follow : data.camera);
  const CAMERAS = {
    home: () => seen().towards,
    front: () => times(-1, seen().level[1]),
    side: () => seen().level[0],
    top: () => add(data.up, times(-0.001, seen().level[1])),
  };

  function look(name) {
    if (!stage) return;
    const { camera, controls } = stage, { center, radius } = seen();
    const distance = 1.06 * radius / Math.sin(Math.PI * camera.fov / 360) / Math.min(1, camera.aspect);
    controls.target.set(...center);
    camera.position.set(...add(center, times(distance, unit(CAMERAS[name]()))));
    controls.update();
    draw();
  }

  let drawn = false;
  function draw() {
    if (stage && !drawn) { drawn = true; requestAnimationFrame(() => { drawn = false; stage.renderer.render(stage.scene, stage.camera); }); }
  }

  const toQuaternion = (R) => new VENDOR.Quaternion().setFromRotationMatrix(
    new VENDOR.Matrix4().set(R[0], R[1], R[2], 0, R[3], R[4], R[5], 0, R[6], R[7], R[8], 0, 0, 0, 0, 1));

  function arrange() {
    if (!stage) return;
    const placed = pose(state.place, state.magnification);
    placed.forEach((part, k) => {
      stage.tubes[k].update(part);
      const mesh = stage.joints[k];
      mesh.position.set(...part.root.p);
      stage.loads[k].position.set(...part.tip.p);
      const along = new VENDOR.Quaternion().setFromUnitVectors(new VENDOR.Vector3(0, 1, 0), new VENDOR.Vector3(...part.link.axis));
      mesh.quaternion.copy(toQuaternion(part.root.R)).multiply(along);
    });
    stage.skins.forEach((skin) => skin.update(placed));
    fitted(state.place, placed).forEach(({ columns: [x, y, z], origin: o }, k) => {
      stage.fitted[k].matrix.set(x[0], y[0], z[0], o[0], x[1], y[1], z[1], o[1], x[2], y[2], z[2], o[2], 0, 0, 0, 1);
    });
    if (stage.ghost.visible) {
      const rigid = pose(state.place, 0);
      rigid.forEach((part, k) => stage.ghosts[k].update(part));
      stage.ghostSkins.forEach((skin) => skin.update(rigid));
    }
    const tip = placed[placed.length - 1].tip;
    stage.world.position.set(...(state.follow ? times(-1, placed[0].root.p) : [0, 0, 0]));
    stage.triad.position.set(...tip.p);
    stage.triad.quaternion.copy(toQuaternion(tip.R));
    stage.path.geometry.setDrawRange(0, Math.max(2, Math.floor(state.place) + 1));
    draw();
  }

  function layTrail() {
    if (!stage) return;
    const points = new Float32Array(3 * frames);
    for (let f = 0; f < frames; f++) { const placed = pose(f, state.magnification); points.set(placed[placed.length - 1].tip.p, 3 * f); }
    stage.path.geometry.setAttribute("position", new VENDOR.BufferAttribute(points, 3));
  }

  function fit() {
    if (!stage) return;
    const { clientWidth: w, clientHeight: h } = $("stage");
    stage.renderer.setSize(w, h, false);
    stage.camera.aspect = w / Math.max(h, 1);
    stage.camera.updateProjectionMatrix();
    draw();
  }

  // --------------------------------------------------------------------------------------------------------- plots

  const charts = [];
  const readable = (v) => (v == null ? "–" : Math.abs(v) >= 1e5 || (v !== 0 && Math.abs(v) < 1e-3) ? v.toExponential(2) : v.toPrecision(4));

  function makeChart(plot, holder) {
    const x = Array.from(floats(plot.t)), sync = VENDOR.uPlot.sync("pliant");
    const style = getComputedStyle(document.documentElement);
    const axis = { stroke: style.getPropertyValue("--soft"), grid: { stroke: style.getPropertyValue("--line"), width: 1 }, ticks: { show: false }, font: "11px sans-serif" };
    const head = document.createElement("h2");
    head.append(plot.title, " ");
    const unitText = document.createElement("span");
    unitText.className = "unit";
    unitText.textContent = plot.unit;
    head.append(unitText);
    const box = document.createElement("div");
    holder.append(head, box);
    // Curves that swing too often to be followed are pale, with their mean over them, until the plot is drawn closer.
    const ink = (s) => (s.color === "black" ? style.getPropertyValue("--ink").trim() : s.color);
    const crowded = (u, s) => s.middle && u.scales.x.max - u.scales.x.min > 0.2 * (x[x.length - 1] - x[0]);
    const middles = plot.series.map((s) => s.middle && floats(s.middle));
    const drawMiddles = (u) => plot.series.forEach((s, k) => {
      if (!u.series[k + 1].show || !crowded(u, s)) return;
      const { ctx, bbox } = u;
      ctx.save();
      ctx.beginPath();
      ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
      ctx.clip();
      ctx.beginPath();
      x.forEach((at, i) => ctx.lineTo(u.valToPos(at, "x", true), u.valToPos(middles[k][i], "y", true)));
      Object.assign(ctx, { strokeStyle: ink(s), lineWidth: 1.5 * devicePixelRatio }).stroke();
      ctx.restore();
    });
    const zoom = (u) => {
      const { min, max } = u.scales.x;
      for (const other of charts) if (other.uplot !== u && (other.uplot.scales.x.min !== min || other.uplot.scales.x.max !== max)) other.uplot.setScale("x", { min, max });
    };
    const chart = new VENDOR.uPlot({
      width: Math.max(260, holder.clientWidth - 20), height: 150,
      scales: { x: { time: false } },
      cursor: { sync: { key: sync.key, setSeries: false }, drag: { x: true, y: false }, points: { size: 5 } },
      legend: { live: true },
      axes: [{ ...axis, size: 26 }, { ...axis, size: 58, space: 24, values: (u, v) => v.map((w) => (w === 0 ? "0" : Math.abs(w) >= 1e5 || Math.abs(w) < 1e-3 ? w.toExponential(0) : String(+w.toPrecision(4)))) }],
      series: [{ label: plot.x, value: (u, v) => readable(v) }, ...plot.series.map((s) => ({
        label: s.name, stroke: (u) => ink(s) + (crowded(u, s) ? "55" : ""), width: 1.3, value: (u, v) => readable(v), points: { show: false },
      }))],
      hooks: { setScale: [(u, key) => { if (key === "x") { zoom(u); mark(); } }], draw: [drawMiddles] },
    }, [x, ...plot.series.map((s) => Array.from(floats(s.y)))], box);
    const line = document.createElement("div");
    line.className = "cursor";
    chart.over.append(line);
    let pressed = null;
    chart.over.addEventListener("mousedown", (e) => { pressed = e.clientX; });
    chart.over.addEventListener("mouseup", (e) => { // a click, not a drag, seeks
      if (pressed !== null && Math.abs(e.clientX - pressed) < 3) hold(chart.posToVal(e.offsetX, "x"));
      pressed = null;
    });
    charts.push({ uplot: chart, line, holder });
  }

  function mark() {
    for (const { uplot, line } of charts) {
      const left = uplot.valToPos(now(), "x");
      line.style.left = `${left}px`;
      line.hidden = !(left >= 0 && left <= uplot.over.clientWidth);
      if (!(uplot.cursor.left >= 0)) uplot.setLegend({ idx: uplot.valToIdx(now()) }, false); // no mouse there: values of now
    }
  }

  const groups = {};
  function makeTabs() {
    const names = [...new Set(data.plots.map((p) => p.tab)), "run"];
    for (const name of names) {
      const button = document.createElement("button");
      button.textContent = name;
      button.setAttribute("role", "tab");
      button.dataset.tab = name;
      button.onclick = () => show(name);
      $("tabs").append(button);
    }
    show(names[0]);
  }

  function show(name) {
    for (const button of $("tabs").children) button.setAttribute("aria-selected", String(button.dataset.tab === name));
    $("facts").hidden = name !== "run";
    $("plots").hidden = name === "run";
    if (name === "run") return;
    for (const [key, holder] of Object.entries(groups)) holder.hidden = key !== name;
    if (!groups[name]) {
      const holder = groups[name] = document.createElement("div");
      $("plots").append(holder);
      data.plots.filter((p) => p.tab === name).forEach((p) => makeChart(p, holder));
    }
    mark();
  }

  function makeFacts() {
    for (const [title, rows] of data.facts) {
      const head = document.createElement("h2"), table = document.createElement("table");
      head.textContent = title;
      for (const row of rows) {
        const line = table.insertRow();
        for (const cell of row) line.insertCell().textContent = cell;
      }
      $("facts").append(head, table);
    }
  }

  // ------------------------------------------------------------------------------------------------------ controls

  const now = () => {
    const k = Math.min(Math.floor(state.place), frames - 1), next = Math.min(k + 1, frames - 1);
    return t[k] + (t[next] - t[k]) * (state.place - k);
  };
  function placeOf(time) {
    let a = 0, b = frames - 1;
    while (b - a > 1) { const m = (a + b) >> 1; if (t[m] <= time) a = m; else b = m; }
    return b === a ? 0 : a + Math.min(Math.max((time - t[a]) / (t[b] - t[a]), 0), 1);
  }
  function seek(time) {
    state.place = placeOf(Math.min(Math.max(time, t[0]), t[frames - 1]));
    $("time").value = now();
    $("clock").textContent = `${now().toFixed(3)} s`;
    arrange();
    mark();
  }
  let before = null;
  function tick(stamp) {
    if (!state.playing) { before = null; return; }
    if (before !== null) {
      let next = now() + state.speed * Math.min((stamp - before) / 1000, 0.25);
      if (next >= t[frames - 1]) next = t[0];
      seek(next);
    }
    before = stamp;
    requestAnimationFrame(tick);
  }
  function play(on) {
    state.playing = on;
    $("play").textContent = on ? "❚❚" : "▶";
    $("play").setAttribute("aria-label", on ? "stop" : "play");
    if (on) requestAnimationFrame(tick);
  }
  function hold(time) {
    play(false);
    seek(time);
  }
  const shownTimes = (m) => `${m < 10 ? +m.toFixed(1) : Math.round(m)}`;
  function magnify(value) {
    state.magnification = value;
    $("times").textContent = shownTimes(value);
    const scale = value === 1 ? "deflections are drawn as they are" : `deflections are drawn ${shownTimes(value)} times larger`;
    $("note").textContent = [scale, data.note].filter(Boolean).join("; ");
    $("magnify").value = Math.log10(Math.max(value, 1));
    layTrail();
    arrange();
  }

  function connect() {
    $("title").textContent = data.title;
    $("subtitle").textContent = data.subtitle;
    document.title = data.title;
    Object.assign($("time"), { min: t[0], max: t[frames - 1], value: t[0] });
    $("time").oninput = (e) => { hold(+e.target.value); };
    $("play").onclick = () => play(!state.playing);
    for (const s of [0.02, 0.05, 0.1, 0.25, 0.5, 1, 2, 4]) $("speed").add(new Option(`${s} ×`, s, false, s === 1));
    $("speed").onchange = (e) => { state.speed = +e.target.value; };
    // The slider is logarithmic from 1; what the arm is without deflection, its ghost shows.
    $("magnify").oninput = (e) => magnify(10 ** +e.target.value);
    $("magnify").ondblclick = () => { $("magnify").value = 0; magnify(1); };
    for (const name of Object.keys(CAMERAS)) {
      const button = document.createElement("button");
      button.textContent = name;
      button.dataset.camera = name;
      button.onclick = () => look(name);
      $("cameras").append(button);
    }
    $("ghost").onchange = (e) => { if (stage) { stage.ghost.visible = e.target.checked; arrange(); } };
    $("trail").onchange = (e) => { if (stage) { stage.path.visible = e.target.checked; draw(); } };
    $("following").hidden = data.follow === null;
    $("follow").onchange = (e) => { state.follow = e.target.checked; arrange(); look("home"); };
    $("axes").onchange = (e) => { if (stage) { stage.triad.visible = e.target.checked; draw(); } };
    document.addEventListener("keydown", (e) => {
      if (e.target.matches("input, select, button")) return;
      if (e.key === " ") { e.preventDefault(); play(!state.playing); }
      if (e.key === "ArrowRight") hold(t[Math.min(Math.floor(state.place) + 1, frames - 1)]);
      if (e.key === "ArrowLeft") hold(t[Math.max(Math.ceil(state.place) - 1, 0)]);
    });
    addEventListener("resize", () => {
      fit();
      for (const { uplot, holder } of charts) if (holder.clientWidth) uplot.setSize({ width: Math.max(260, holder.clientWidth - 20), height: 150 });
      mark();
    });
  }

  connect();
  makeFacts();
  try {
    stage = makeStage();
  } catch (error) {
    $("nogl").hidden = false;
    console.warn(`no 3-D view: ${error.message}`);
  }
  makeTabs();
  fit();
  look("home");
  magnify(data.magnification);
  seek(t[0]);
  // The first frame often has an arm that hardly bends: a page plays by itself, but not where motion is not wanted or
  // in a frame of another page.
  if (stage && self === top && !matchMedia("(prefers-reduced-motion: reduce)").matches) play(true);

  // For programs that look at the page.
  globalThis.pliantView = {
    ready: true, state, seek, play, magnify, look, drawn: () => stage !== null,
    world: () => stage.world.position.toArray(),
    poses: (m = state.magnification) => pose(state.place, m).map(({ root, tip }) => ({ root, tip })),
    fittings: (m = state.magnification) => fitted(state.place, pose(state.place, m)),
    tip: (m = state.magnification) => { const placed = pose(state.place, m); return placed[placed.length - 1].tip.p; },
  };
})();
