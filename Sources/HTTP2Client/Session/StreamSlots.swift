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
