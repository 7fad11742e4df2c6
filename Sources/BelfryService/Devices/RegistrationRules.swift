/// Decides which device a registration belongs to, when a token and a UUID may each lead to another.
///
/// One token has one active device. A UUID that was once issued stays valid for ever, since an app repeats it for ever.
/// Source: the registration behaviour of the PCF SDKs, `docs/compatibility/pcf.md`.
package enum RegistrationRules: Sendable, Hashable {
    /// No device has the token, and no known UUID was named.
    case create
    /// The device takes the values; `evicted`, which had the token, loses it and becomes inactive.
    case update(Key<Device>, evicted: Key<Device>?)

    /// - Parameters:
    ///   - named: the device of the caller's UUID, if the platform knows it.
    ///   - holder: the device that has the token now.
    package init(named: Key<Device>?, holder: Key<Device>?) {
        switch (named, holder) {
        case (nil, nil): self = .create
        case (nil, let holder?): self = .update(holder, evicted: nil)
        case (let named?, let holder): self = .update(named, evicted: holder == named ? nil : holder)
        }
    }
}
