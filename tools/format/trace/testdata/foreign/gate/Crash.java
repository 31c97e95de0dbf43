public class Crash {
    static native int boom(int n);

    public static void main(String[] args) {
        System.load(args[0]);
        boom(3);
    }
}
