import CAres
import Glibc
import NIOCore

/// How a channel of c-ares asks.
struct AresConfiguration: Sendable {
    /// Asked instead of the machine's; none for those.
    var servers: [String] = []
    var resolvConf = "/etc/resolv.conf"
    /// The time for all attempts at one name together.
    var timeAtMost = Duration.seconds(5)
}

/// Look-ups by c-ares over its sockets. Only the thread that made it touches it.
final class AresChannel {
    typealias Tell = @Sendable (NameResolver.Answer, Duration) -> Void

    /// The sockets that are waited for, and the events of `poll` for each.
    private(set) var sockets: [Int32: Int16] = [:]
    /// Look-ups under way.
    private(set) var running = 0
    private var channel: ares_channel?

    private static let isLibraryReady = ares_library_init(ARES_LIB_INIT_ALL) == 0
    /// How often each server is asked.
    private static let tries = 2

    /// - Parameter searches: whether the search domains of the machine complete a name.
    init?(_ configuration: AresConfiguration, searches: Bool) {
        guard Self.isLibraryReady else { return nil }
        guard open(configuration, searches, servers: max(1, configuration.servers.count)) else { return nil }
        guard configuration.servers.isEmpty else { return }
        // The time for a name is shared by the servers, whose number is known now.
        let servers = countServers()
        guard servers > 1 else { return }
        close()
        guard open(configuration, searches, servers: servers) else { return nil }
    }

    deinit { close() }

    private func open(_ configuration: AresConfiguration, _ searches: Bool, servers: Int) -> Bool {
        var options = ares_options()
        options.flags = searches ? 0 : ARES_FLAG_NOSEARCH
        options.tries = Int32(Self.tries)
        // The second attempt waits twice as long as the first.
        let first = configuration.timeAtMost / (3 * servers) / 100 * 95
        options.timeout = max(100, Int32(clamping: TimeAmount(first).nanoseconds / 1_000_000))
        options.sock_state_cb = { user, socket, isRead, isWritten in
            guard let user else { return }
            let channel = Unmanaged<AresChannel>.fromOpaque(user).takeUnretainedValue()
            let events = (isRead != 0 ? POLLIN : 0) | (isWritten != 0 ? POLLOUT : 0)
            channel.sockets[socket] = events == 0 ? nil : Int16(events)
        }
        options.sock_state_cb_data = Unmanaged.passUnretained(self).toOpaque()
        var mask =
            ARES_OPT_FLAGS | ARES_OPT_TRIES | ARES_OPT_TIMEOUTMS | ARES_OPT_SOCK_STATE_CB | ARES_OPT_RESOLVCONF
        // `ares_getaddrinfo` of 1.18 searches whatever ARES_FLAG_NOSEARCH says: no domain is left to search.
        if !searches { mask |= ARES_OPT_DOMAINS }
        let isOpen = configuration.resolvConf.withCString { path in
            // c-ares copies the path.
            options.resolvconf_path = UnsafeMutablePointer(mutating: path)
            return ares_init_options(&channel, &options, mask) == ARES_SUCCESS
        }
        guard isOpen, let channel else { return false }
        guard !configuration.servers.isEmpty else { return true }
        return ares_set_servers_ports_csv(channel, configuration.servers.joined(separator: ",")) == ARES_SUCCESS
    }

    private func countServers() -> Int {
        guard let channel else { return 0 }
        var first: UnsafeMutablePointer<ares_addr_port_node>?
        guard ares_get_servers_ports(channel, &first) == ARES_SUCCESS, let first else { return 0 }
        defer { ares_free_data(first) }
        return sequence(first: first) { $0.pointee.next }.reduce(0) { count, _ in count + 1 }
    }

    /// Tells all that is under way that there is no answer.
    func close() {
        if let channel { ares_destroy(channel) }
        channel = nil
        sockets = [:]
    }

    // MARK: Look-ups

    private final class Query {
        unowned(unsafe) let channel: AresChannel
        let tell: Tell

        init(channel: AresChannel, tell: @escaping Tell) {
            self.channel = channel
            self.tell = tell
        }
    }

    func ask(_ host: String, _ tell: @escaping Tell) {
        guard let channel else { return tell(.failure(.unanswered), .zero) }
        running += 1
        var hints = ares_addrinfo_hints()
        hints.ai_family = AF_UNSPEC
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        let query = Unmanaged.passRetained(Query(channel: self, tell: tell))
        ares_getaddrinfo(
            channel, host, nil, &hints,
            { user, status, _, found in
                defer { if let found { ares_freeaddrinfo(found) } }
                guard let user else { return }
                let query = Unmanaged<Query>.fromOpaque(user).takeRetainedValue()
                query.channel.running -= 1
                let (answer, lifetime) = AresChannel.answer(status, found)
                query.tell(answer, lifetime)
            }, query.toOpaque())
    }

    private static func answer(
        _ status: Int32, _ found: UnsafeMutablePointer<ares_addrinfo>?
    ) -> (NameResolver.Answer, Duration) {
        switch status {
        case ARES_SUCCESS: break
        case ARES_ENOTFOUND, ARES_ENODATA, ARES_EBADNAME:
            return (.failure(.unknown), .zero)
        default: return (.failure(.unanswered), .zero)
        }
        var addresses: [SocketAddress] = []
        var lifetime = Int32.max
        var next = found?.pointee.nodes
        while let node = next {
            if let address = node.pointee.socketAddress {
                addresses.append(address)
                lifetime = min(lifetime, node.pointee.ai_ttl)
            }
            next = node.pointee.ai_next
        }
        return addresses.isEmpty ? (.failure(.unknown), .zero) : (.success(addresses), .seconds(lifetime))
    }

    // MARK: Sockets and time

    /// Reads and writes what is ready.
    func process(_ socket: Int32, events: Int16) {
        guard let channel else { return }
        let isReadable = events & Int16(POLLIN | POLLERR | POLLHUP) != 0
        let isWritable = events & Int16(POLLOUT) != 0
        ares_process_fd(channel, isReadable ? socket : ARES_SOCKET_BAD, isWritable ? socket : ARES_SOCKET_BAD)
    }

    /// Asks again, or another server, where no answer came in time.
    func processTime() {
        if let channel { ares_process_fd(channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD) }
    }

    /// The time until the next attempt; nil with nothing under way.
    var wait: Duration? {
        guard let channel, running > 0 else { return nil }
        var time = timeval()
        guard ares_timeout(channel, nil, &time) != nil else { return nil }
        return .seconds(time.tv_sec) + .microseconds(Int64(time.tv_usec))
    }
}

extension ares_addrinfo_node {
    fileprivate var socketAddress: SocketAddress? {
        guard let start = ai_addr else { return nil }
        let bytes = UnsafeRawPointer(start)
        switch ai_family {
        case AF_INET: return SocketAddress(bytes.loadUnaligned(as: sockaddr_in.self))
        case AF_INET6: return SocketAddress(bytes.loadUnaligned(as: sockaddr_in6.self))
        default: return nil
        }
    }
}
