// What the viewer needs of three.js and uPlot, as one global. Rebuild: see README.md beside the bundle.
export {
  AmbientLight, BufferAttribute, BufferGeometry, Color, CylinderGeometry, BoxGeometry, DirectionalLight, DoubleSide, GridHelper,
  Group, HemisphereLight, Line, LineBasicMaterial, Matrix4, Mesh, MeshStandardMaterial, PerspectiveCamera, Quaternion,
  Scene, SphereGeometry, Vector3, WebGLRenderer, AxesHelper,
} from "three";
export { OrbitControls } from "three/addons/controls/OrbitControls.js";
export { default as uPlot } from "uplot";
