import CNghttp2

/// The exchanges of a connection and their slots.
extension APNsConnection {
    func beginExchange(on streamID: Int32) {
        let slot = freeSlots.popLast() ?? newSlot()
        slot.pointee.begin(streamID)
        reading = slot
        lastStreamSeen = max(lastStreamSeen, streamID)
        nghttp2_session_set_stream_user_data(session, streamID, slot)
        streamsOpen += 1
        if streamsOpen > streamsOpenMax {
            streamsOpenMax = streamsOpen
            let most = streamsOpen
            station.ledger.recordConnection { $0.streamsAtOnceMax = max($0.streamsAtOnceMax, most) }
        }
    }

    func exchange(on streamID: Int32) -> UnsafeMutablePointer<Exchange>? {
        if let reading, reading.pointee.streamID == streamID, reading.pointee.isOpen { return reading }
        return nghttp2_session_get_stream_user_data(session, streamID)?.assumingMemoryBound(to: Exchange.self)
    }

    func endExchange(on streamID: Int32) {
        guard let slot = exchange(on: streamID), slot.pointee.isOpen else { return }
        slot.pointee.isOpen = false
        streamsOpen -= 1
        if reading == slot { reading = nil }
        if !slot.pointee.isDelayed { freeSlots.append(slot) }
    }

    /// Streams that wait for an answer, oldest first.
    var waiting: [UnsafeMutablePointer<Exchange>] {
        slots.filter { $0.pointee.isOpen && !$0.pointee.isAnswered }
            .sorted { $0.pointee.streamID < $1.pointee.streamID }
    }

    private func newSlot() -> UnsafeMutablePointer<Exchange> {
        let slot = UnsafeMutablePointer<Exchange>.allocate(capacity: 1)
        slot.initialize(to: Exchange(tokenBytesMax: station.configuration.tokenBytes.upperBound))
        slots.append(slot)
        return slot
    }
}
