import Testing

/// The real program against callers who want to stop it, slow it down for others, or fill it up.
///
/// Judged by counts and ratios: memory gained, CPU beside a flat request of the same length, neighbours served meanwhile,
/// status codes, and the bytes that follow. One attack at a time, so that a figure belongs to one attack. The bounds are
/// those of docs/ThreatModel.md and stand in `Bounds`.
@Suite(.serialized) struct HostileTests {}
