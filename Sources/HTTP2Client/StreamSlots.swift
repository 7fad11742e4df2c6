/// The state of one stream. `job` is nil once its answer was given and only the stream itself must still close.
struct StreamSlot {
    // Unretained: the session holds every job until its last answer, and detaches slots before.
    var job: Unmanaged<BatchJob>?
    var request = 0
    var streamID: Int32 = 0
    var bodyStart: UnsafePointer<UInt8>?
    var bodyLeft = 0
    var status: UInt16 = 0
    var hasEnded = false
    var nextFree: UnsafeMutablePointer<StreamSlot>?
}

/// A fixed table of stream slots at addresses that do not move, so that nghttp2 may carry a pointer to each.
struct StreamSlots: ~Copyable {
    private let base: UnsafeMutablePointer<StreamSlot>
    private let capacity: Int
    private var free: UnsafeMutablePointer<StreamSlot>?

    init(capacity: Int) {
        self.capacity = capacity
        base = .allocate(capacity: capacity)
        base.initialize(repeating: StreamSlot(), count: capacity)
        for index in (0..<capacity).reversed() {
            base[index].nextFree = free
            free = base + index
        }
    }

    deinit {
        base.deinitialize(count: capacity)
        base.deallocate()
    }

    mutating func take() -> UnsafeMutablePointer<StreamSlot>? {
        guard let slot = free else { return nil }
        free = slot.pointee.nextFree
        return slot
    }

    mutating func give(back slot: UnsafeMutablePointer<StreamSlot>) {
        slot.pointee = StreamSlot(nextFree: free)
        free = slot
    }

    /// The slot of a stream whose answer is still due.
    func open(_ streamID: Int32) -> UnsafeMutablePointer<StreamSlot>? {
        for index in 0..<capacity where base[index].job != nil && base[index].streamID == streamID {
            return base + index
        }
        return nil
    }

    /// Visits the slots whose answer is still due.
    func forEachOpen(_ visit: (UnsafeMutablePointer<StreamSlot>) -> Void) {
        for index in 0..<capacity where base[index].job != nil {
            visit(base + index)
        }
    }
}

/// How many streams may be open: what the server allows, what we want, and the limit before authentication is proven.
struct StreamWindow {
    /// Assumed where the server names no limit. Source: RFC 9113 §6.5.2 recommends no less than 100.
    static let unstated = 100

    let most: Int
    private let initial: Int?
    private var remote = unstated
    private(set) var isProven: Bool
    var active = 0

    init(most: Int, initial: Int?) {
        self.most = most
        self.initial = initial
        isProven = initial == nil
    }

    var limit: Int {
        let allowed = min(most, remote)
        return isProven ? allowed : min(allowed, initial ?? allowed)
    }

    /// The limit once authentication is proven.
    var provenLimit: Int { min(most, remote) }

    var room: Int { max(0, limit - active) }

    /// The server's SETTINGS_MAX_CONCURRENT_STREAMS, which may change at any time; `UInt32.max` where it gave none.
    mutating func allow(_ streams: UInt32) {
        remote = streams == .max ? Self.unstated : Int(streams)
    }

    mutating func prove() { isProven = true }
}
