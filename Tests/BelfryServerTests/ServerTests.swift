import Testing

/// The server as a whole, over real sockets, beside simulated providers. One test at a time: each takes the machine.
@Suite(.serialized) struct ServerTests {}
