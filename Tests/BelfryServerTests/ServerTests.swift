import Testing

/// The server as a whole, over real sockets, beside simulated providers.
///
/// This suite and the next three run side by side, one test of each at a time: each takes a share of the machine, and waits
/// most of its time.
@Suite(.serialized) struct ServerTests {}

/// Commands and what their users see, most of them beside a server.
@Suite(.serialized) struct CommandTests {}

/// Servers and commands that are killed or restarted while they work.
@Suite(.serialized) struct CrashTests {}

/// Networks, databases, proxies and providers that fail.
@Suite(.serialized) struct OutageTests {}
