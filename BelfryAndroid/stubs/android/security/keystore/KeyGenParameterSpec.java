package android.security.keystore;

import java.security.spec.AlgorithmParameterSpec;

public final class KeyGenParameterSpec implements AlgorithmParameterSpec {
    public static final class Builder {
        public Builder(String alias, int purposes) {}
        public Builder setKeySize(int bits) { return this; }
        public Builder setBlockModes(String... modes) { return this; }
        public Builder setEncryptionPaddings(String... paddings) { return this; }
        public KeyGenParameterSpec build() { throw new UnsupportedOperationException(); }
    }
}
