package android.os;

public class Build {
    public static final String MANUFACTURER = "";
    public static final String MODEL = "";
    public static class VERSION {
        public static final int SDK_INT = 36;
        public static final String RELEASE = "";
    }
}
