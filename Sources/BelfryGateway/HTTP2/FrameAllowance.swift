import CNghttp2
import NIOCore

/// How many frames a sender may send that bring no request on: some at once, some a second, and some for each request.
struct FrameAllowance {
    /// A frame by what it costs.
    struct Frame {
        let cost: Int

        /// A list of headers that is longer than any that is taken: it was decoded for nothing.
        static let oversize = Frame(cost: 50)

        private init(cost: Int) { self.cost = cost }

        /// Frames of data with something in them are bounded by the windows.
        init(type: UInt8, length: Int, flags: UInt8) {
            switch UInt32(type) {
            case NGHTTP2_HEADERS.rawValue: cost = 0
            case NGHTTP2_DATA.rawValue:
                cost = length == 0 && flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) == 0 ? 1 : 0
            // A block of headers that is taken needs one frame.
            case NGHTTP2_CONTINUATION.rawValue: cost = 100
            default: cost = 1
            }
        }
    }

    private static let most = 1_000
    private static let perSecond = 50
    private static let perRequest = 4

    private var left = Self.most
    private var countedAt: NIODeadline?

    /// False where there is none left.
    mutating func take(_ frame: Frame, at now: NIODeadline) -> Bool {
        guard frame.cost > 0 else { return true }
        let earned = countedAt.map { (now - $0).nanoseconds * Int64(Self.perSecond) / 1_000_000_000 } ?? 0
        if earned > 0 || countedAt == nil {
            left = min(Self.most, left + Int(clamping: earned))
            countedAt = now
        }
        left -= frame.cost
        return left >= 0
    }

    mutating func earn() { left = min(Self.most, left + Self.perRequest) }
}
