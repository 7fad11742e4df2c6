import CAres
import Glibc
import NIOCore
import Synchronization

/// The thread that owns the channels of c-ares: it takes questions in, waits for sockets and times, and tells the answers.
final class AresThread: NameSource {
    private struct Question: Sendable {
        let host: String
        let lane: NameCaller.Lane
        let tell: AresChannel.Tell
    }

    private struct Inbox: Sendable {
        var questions: [Question] = []
        var isClosed = false
    }

    private let configuration: AresConfiguration
    private let inbox = Mutex(Inbox())
    /// Written to wake the thread, which closes it; -1 where the system gave none.
    private let bell: Int32

    init(_ configuration: AresConfiguration) {
        self.configuration = configuration
        bell = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
    }

    func start(_ expire: @escaping @Sendable (NIODeadline) -> NIODeadline?) {
        // A thread that cannot be woken would never answer.
        guard bell >= 0 else { return inbox.withLock { $0.isClosed = true } }
        let body = Unmanaged.passRetained(ThreadBody { [self] in run(expire) })
        var thread = pthread_t()
        let result = pthread_create(
            &thread, nil,
            { start in
                if let start { Unmanaged<ThreadBody>.fromOpaque(start).takeRetainedValue().run() }
                return nil
            }, body.toOpaque())
        if result == 0 {
            pthread_detach(thread)
        } else {
            body.release()
            inbox.withLock { $0.isClosed = true }
        }
    }

    func ask(
        _ host: String, in lane: NameCaller.Lane, _ tell: @escaping @Sendable (NameResolver.Answer, Duration) -> Void
    ) {
        let isTaken = inbox.withLock { inbox in
            if !inbox.isClosed { inbox.questions.append(Question(host: host, lane: lane, tell: tell)) }
            return !inbox.isClosed
        }
        if isTaken { wake() } else { tell(.failure(.unanswered), .zero) }
    }

    func wake() { inbox.withLock { if !$0.isClosed { ring() } } }

    func close() {
        inbox.withLock { inbox in
            guard !inbox.isClosed else { return }
            inbox.isClosed = true
            ring()
        }
    }

    private func ring() { _ = eventfd_write(bell, 1) }

    // MARK: On the thread

    private func run(_ expire: (NIODeadline) -> NIODeadline?) {
        var channels = AresChannels(configuration)
        while true {
            let (questions, isClosed) = inbox.withLock { inbox in
                defer { inbox.questions = [] }
                return (inbox.questions, inbox.isClosed)
            }
            guard !isClosed else {
                channels.close()
                for question in questions { question.tell(.failure(.unanswered), .zero) }
                Glibc.close(bell)
                return
            }
            for question in questions { channels.ask(question.host, in: question.lane, question.tell) }
            let now = NIODeadline.now()
            let deadline = expire(now).map { Duration.nanoseconds(max(0, ($0 - now).nanoseconds)) }
            channels.wait(ringing: bell, atMost: deadline)
        }
    }
}

private final class ThreadBody {
    let run: () -> Void

    init(_ run: @escaping () -> Void) { self.run = run }
}

/// The channels of all lanes, opened anew when the machine's configuration has changed.
private struct AresChannels {
    private let configuration: AresConfiguration
    private var current: [NameCaller.Lane: AresChannel] = [:]
    /// Channels that were opened before a change and still have look-ups under way.
    private var former: [AresChannel] = []
    private var stamps: [FileStamp?]
    private var lookedAt = NIODeadline.now()

    /// How often the machine's configuration is looked at, when something is asked.
    private static let lookEvery = TimeAmount.seconds(1)

    init(_ configuration: AresConfiguration) {
        self.configuration = configuration
        stamps = Self.stamps(configuration)
    }

    mutating func ask(_ host: String, in lane: NameCaller.Lane, _ tell: @escaping AresChannel.Tell) {
        renewIfChanged()
        let channel = current[lane] ?? AresChannel(configuration, searches: lane == .configured)
        guard let channel else { return tell(.failure(.unanswered), .zero) }
        current[lane] = channel
        channel.ask(host, tell)
    }

    private mutating func renewIfChanged() {
        let now = NIODeadline.now()
        guard lookedAt + Self.lookEvery <= now else { return }
        lookedAt = now
        let found = Self.stamps(configuration)
        guard found != stamps else { return }
        stamps = found
        former += current.values
        current = [:]
    }

    private static func stamps(_ configuration: AresConfiguration) -> [FileStamp?] {
        [configuration.resolvConf, "/etc/nsswitch.conf"].map(FileStamp.init)
    }

    /// Waits for a socket, a time or the bell, and serves what is ready.
    mutating func wait(ringing bell: Int32, atMost deadline: Duration?) {
        former.removeAll { $0.running == 0 }
        let open = Array(current.values) + former
        var polled = [pollfd(fd: bell, events: Int16(POLLIN), revents: 0)]
        var owners: [AresChannel] = []
        for channel in open {
            for (socket, events) in channel.sockets {
                polled.append(pollfd(fd: socket, events: events, revents: 0))
                owners.append(channel)
            }
        }
        let time = (open.map(\.wait) + [deadline]).compactMap(\.self).min()
        // Rounded up, so that it has come when it is over.
        let milliseconds = time.map { Int32(clamping: (TimeAmount($0).nanoseconds + 999_999) / 1_000_000) } ?? -1
        let ready = poll(&polled, nfds_t(polled.count), milliseconds)
        if ready > 0 {
            if polled[0].revents != 0 {
                var count = eventfd_t()
                eventfd_read(bell, &count)
            }
            for (socket, channel) in zip(polled.dropFirst(), owners) where socket.revents != 0 {
                channel.process(socket.fd, events: socket.revents)
            }
        }
        for channel in open where channel.running > 0 { channel.processTime() }
    }

    mutating func close() {
        for channel in Array(current.values) + former { channel.close() }
        (current, former) = ([:], [])
    }
}

/// Tells whether a file was written anew.
private struct FileStamp: Equatable {
    private let numbers: [Int]

    init?(_ path: String) {
        var found = stat()
        guard stat(path, &found) == 0 else { return nil }
        numbers = [Int(found.st_ino), Int(found.st_size), found.st_mtim.tv_sec, found.st_mtim.tv_nsec]
    }
}
